package activities

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"everstep/domain"
)

// ListTools says what a definition means on this worker: which tools its names
// stand for, and what its model's provider and the storage allow. It changes
// nothing and may run any number of times.
//
// It fails for good where the definition cannot run here: an unknown tool or
// provider, a model that its provider refuses, tools too many to be recorded.
// An error of the provider that may pass, such as a key that a vault does not
// hand out just now, is tried again.
func (a *Activities) ListTools(ctx context.Context, request domain.CatalogRequest) (domain.Catalog, error) {
	catalog, err := a.catalog(ctx, request.Definition)
	if err != nil {
		return domain.Catalog{}, failure(domain.AsError(err))
	}
	return catalog, nil
}

func (a *Activities) catalog(ctx context.Context, definition domain.Definition) (domain.Catalog, error) {
	specs, err := a.specs(definition.Tools)
	if err != nil {
		return domain.Catalog{}, err
	}
	provider, ok := a.config.Providers[definition.Model.Provider]
	if !ok {
		return domain.Catalog{}, domain.CodedErrorf(domain.Invalid, domain.CodeModelNotFound,
			"model: no provider %q on this worker; the providers are: %s", domain.Shorten(definition.Model.Provider, 64), a.providerNames())
	}
	if err := provider.Check(ctx, definition.Model); err != nil {
		return domain.Catalog{}, err
	}
	catalog := domain.Catalog{
		Tools: specs, Storage: a.config.Storage != nil, MinOutputTokens: provider.MinOutputTokens(),
	}
	if catalog.Digest, err = digestOf(definition, catalog); err != nil {
		return domain.Catalog{}, err
	}
	return catalog, nil
}

// specs resolves names in the order of the definition, each once.
func (a *Activities) specs(names []string) ([]domain.ToolSpec, error) {
	var specs []domain.ToolSpec
	var unknown []string
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		t, ok := a.tools[name]
		if !ok {
			unknown = append(unknown, domain.Shorten(name, 64))
			continue
		}
		specs = append(specs, t.Spec())
	}
	if len(unknown) > 0 {
		return nil, domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool,
			"tools: this worker has no %s; it has: %s", domain.Shorten(strings.Join(unknown, ", "), 500), a.toolNames())
	}
	return specs, nil
}

func (a *Activities) providerNames() string {
	if len(a.config.Providers) == 0 {
		return "none"
	}
	var names []string
	for name := range a.config.Providers {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// digestOf names a definition together with what a worker made of it, and
// refuses what is too large to be recorded.
func digestOf(definition domain.Definition, catalog domain.Catalog) (domain.Digest, error) {
	defined, err := json.Marshal(definition)
	if err != nil {
		return domain.Digest{}, domain.Errorf(domain.Invalid, "definition: %s", err)
	}
	listed, err := json.Marshal(catalog)
	if err != nil {
		return domain.Digest{}, domain.Errorf(domain.Invalid, "tools: %s", err)
	}
	if size := len(defined) + len(listed); size > domain.MaxPayload {
		return domain.Digest{}, domain.Errorf(domain.TooLarge,
			"tools: the definition and its %d tools take %d bytes, more than %d; give the agent fewer tools, or shorter descriptions",
			len(catalog.Tools), size, domain.MaxPayload)
	}
	return domain.DigestOf(defined, listed), nil
}
