package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// ListTools says what a definition means on this worker: which tools and hooks
// its names stand for, what its model's provider and the storage allow, what the
// model costs and holds. Defaults are filled in, so that later ones change
// nothing about an execution that began with these. It changes nothing and may
// run any number of times. Where an execution follows one that began with the same, the
// answer but says so, with the limits.
//
// It fails for good where the definition, or a fallback of it, cannot run here, unless
// another worker may have what this one lacks. An error of the provider that may pass, such as a key that a vault does not hand out
// just now, is tried again.
func (a *Activities) ListTools(ctx context.Context, request contract.ResolveRequest) (none contract.Resolved, _ error) {
	progress := &toolProgress{tool: "tools", hide: a.config.Secrets.Hide, heard: make(chan struct{}, 1)}
	defer a.heartbeatWith(ctx, func() []any {
		return []any{contract.Heartbeat{Phase: contract.PhaseWaiting, Progress: progress.newest()}}
	})() // a vault, or a server, may be slow
	ctx = tool.WithProgress(ctx, progress.tell)
	definition := request.Definition
	if !request.Known.IsZero() { // the session has it
		conversation, err := a.config.Transcripts.Fetch(ctx, request.Log, request.Known, request.Log.Length)
		if err != nil {
			return none, domain.AsError(err)
		}
		definition = conversation.Resolved.Definition
	}
	catalog, err := a.catalog(ctx, definition)
	switch {
	case err != nil:
		return none, domain.AsError(err)
	case !request.Listed.IsZero() && catalog.Digest == request.Listed:
		return contract.Resolved{
			Unchanged: true, Digest: catalog.Digest, RateLimit: catalog.RateLimit, ToolLimits: catalog.ToolLimits, Timing: catalog.Timing,
		}, nil
	}
	return catalog, nil
}

func (a *Activities) catalog(ctx context.Context, definition domain.Definition) (none contract.Resolved, _ error) {
	specs, noTools := a.specs(ctx, definition.Tools)
	hooks, noHooks := a.config.Hooks.Resolve(definition.Hooks)
	err := cmp.Or(a.config.Allow.agent(definition), noTools, lacking(noHooks), a.checkCompiler(definition.Compiler))
	if err != nil {
		return none, err
	}
	provider, mode, err := a.serves(ctx, definition, false)
	if err != nil {
		return none, err
	}
	if err := a.checkFallbacks(ctx, definition); err != nil {
		return none, err
	}
	// What the definition says, else what the worker knows.
	model, known := definition.Model, a.known(definition.Model)
	catalog := contract.Resolved{
		Tools: specs, Hooks: hooks, Guards: new(definition.Guards.WithDefaults()), Compaction: new(definition.Compaction.WithDefaults()),
		Storage: a.config.Storage != nil, Records: a.config.Records != nil, MinOutputTokens: provider.MinOutputTokens(), OutputMode: mode,
		Price:           cmp.Or(model.Price, known.Price),
		ContextWindow:   cmp.Or(model.ContextWindow, known.ContextWindow),
		MaxOutputTokens: cmp.Or(model.MaxOutputTokens, known.MaxOutputTokens),
	}
	if definition.Approvals.LeaveTheRest() {
		catalog.Approvals = a.config.Approvals
	}
	if catalog.Digest, err = digestOf(definition, catalog); err != nil {
		return none, err
	}
	catalog.Timing = a.config.Timing
	if limit, limited := a.config.Limits[definition.Model.Provider]; limited {
		catalog.RateLimit = &limit.RateLimit
	}
	catalog.ToolLimits = map[string]contract.ToolLimit{}
	for _, spec := range specs {
		if limit, limited := a.config.ToolLimits[spec.Name]; limited {
			catalog.ToolLimits[spec.Name] = limit
		}
	}
	return catalog, nil
}

// specs resolves names in the order of the definition, each tool once.
func (a *Activities) specs(ctx context.Context, names []string) ([]domain.ToolSpec, error) {
	var specs []domain.ToolSpec
	var unknown []string
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		found, err := a.named(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case found == nil && !seen[name]:
			seen[name] = true
			unknown = append(unknown, domain.Shorten(name, 64))
		}
		for _, spec := range found {
			if !seen[spec.Name] {
				seen[spec.Name] = true
				specs = append(specs, spec)
			}
		}
	}
	if len(unknown) > 0 {
		return nil, domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool,
			"tools: this worker has no %s; it has: %s", domain.Shorten(strings.Join(unknown, ", "), 500), a.toolNames())
	}
	return specs, nil
}

// named are the tools that a definition's name stands for; none: this worker has no such.
func (a *Activities) named(ctx context.Context, name string) (specs []domain.ToolSpec, err error) {
	if t, ok := a.tools[name]; ok {
		return []domain.ToolSpec{t.Spec()}, nil
	}
	var found []tool.Tool
	if server, all := domain.ServerOfAll(name); all && has(a.config.Toolbox, name) {
		if found, err = a.config.Toolbox.All(ctx, server); err == nil {
			found = slices.DeleteFunc(found, func(t tool.Tool) bool { return !a.remote(t.Spec().Name) })
		}
	} else if a.remote(name) {
		found = make([]tool.Tool, 1)
		found[0], err = a.config.Toolbox.Find(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	for _, t := range found {
		spec := t.Spec()
		spec.Description, spec.Schema = a.config.Secrets.Hide(spec.Description), hidden(a.config.Secrets, spec.Schema)
		specs = append(specs, spec)
	}
	return specs, nil
}

// checkCompiler refuses a compiler that is neither ours nor this worker's.
func (a *Activities) checkCompiler(compiler domain.Compiler) error {
	if compiler.Builtin() || a.config.Compilers[string(compiler)] != nil {
		return nil
	}
	names := append([]string{enum.Names(domain.Compilers(), ", ")}, slices.Sorted(maps.Keys(a.config.Compilers))...)
	return lacking(domain.Invalidf("compiler: this worker has no %q; it has: %s",
		domain.Shorten(string(compiler), domain.MaxCompilerName), strings.Join(names, ", ")))
}

func (a *Activities) provider(model domain.LLMConfig) (inference.Provider, error) {
	if err := a.config.Allow.Model(model); err != nil {
		return nil, err
	}
	if provider, ok := a.config.Providers[model.Provider]; ok {
		return provider, nil
	}
	return nil, lacking(domain.CodedErrorf(domain.Invalid, domain.CodeModelNotFound,
		"model: no provider %q on this worker; the providers are: %s", domain.Shorten(model.Provider, 64), cmp.Or(strings.Join(slices.Sorted(maps.Keys(a.config.Providers)), ", "), "none")))
}

// digestOf names a definition together with what a worker made of it, and
// refuses what is too large to be recorded.
func digestOf(definition domain.Definition, catalog contract.Resolved) (none domain.Digest, _ error) {
	defined, err := json.Marshal(definition)
	if err != nil {
		return none, domain.Invalidf("definition: %s", err)
	}
	listed, err := json.Marshal(catalog)
	if err != nil {
		return none, domain.Invalidf("tools: %s", err)
	}
	if size := len(defined) + len(listed); size > domain.MaxPayload {
		return none, domain.TooLargef("tools: the definition and its %d tools take %d bytes, more than %d; give the agent fewer tools, or shorter descriptions",
			len(catalog.Tools), size, domain.MaxPayload)
	}
	return domain.DigestOf(defined, listed), nil
}
