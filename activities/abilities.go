package activities

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"go.temporal.io/sdk/activity"

	"everstep/activities/inference"
	"everstep/activities/modelfacts"
	"everstep/activities/output"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// known is what the worker knows of a model; zero: nothing, so it may be able to do anything.
func (a *Activities) known(model domain.LLMConfig) modelfacts.Facts {
	if facts, ok := a.config.Facts(model); ok {
		return facts
	}
	return modelfacts.Facts{}
}

func cannot(ability *bool) bool { return ability != nil && !*ability }

// lacks is the error of a model that is known to lack what a field asks for.
func lacks(field string, model domain.LLMConfig, facts modelfacts.Facts, what, remedy string) *domain.Error {
	return domain.Invalidf("%s: model %s takes no %s (%s); %s, take another model, or say otherwise in a file of prices",
		field, domain.Shorten(model.Provider+"/"+model.Model, 128), what, facts.Source, remedy)
}

// checkImages is asked before each request, since images come with messages.
func (c *modelCall) checkImages() error {
	facts := c.activities.known(c.call.Config)
	if !cannot(facts.Images) {
		return nil
	}
	for i, m := range c.call.Messages {
		if slices.ContainsFunc(m.Parts, func(p domain.Part) bool { return p.Type == domain.PartImage }) {
			return lacks(fmt.Sprintf("message %d", i), c.call.Config, facts, "images", "send what they show as text")
		}
	}
	return nil
}

// serves finds who speaks to a definition's model, and how it is told of the
// response format, and refuses a model that cannot do what the definition asks.
func (a *Activities) serves(ctx context.Context, definition domain.Definition, later bool) (inference.Provider, domain.OutputMode, error) {
	provider, err := a.provider(definition.Model)
	if err != nil {
		return nil, "", err
	}
	err = provider.Check(ctx, definition.Model)
	if err != nil && (!later || domain.AsError(err).Kind == domain.Invalid) {
		return nil, "", err
	}
	if facts := a.known(definition.Model); definition.UsesTools() && cannot(facts.Tools) {
		return nil, "", lacks("tools", definition.Model, facts, "tools", "leave tools out")
	}
	mode, err := a.outputMode(definition, provider)
	return provider, mode, err
}

// checkFallbacks refuses at the start what could only fail later, but for a key.
func (a *Activities) checkFallbacks(ctx context.Context, definition domain.Definition) error {
	for i, fallback := range definition.Fallbacks {
		own := definition
		own.Model = fallback.Model
		if _, _, err := a.serves(ctx, own, true); err != nil {
			failed := *domain.AsError(err)
			failed.Message = fmt.Sprintf("fallbacks[%d]: %s", i, failed.Message)
			return &failed
		}
	}
	return nil
}

// CheckOutput says whether a text fits a response format or a schema. The workflow asks it for texts that no inference has
// checked: an answer that a hook has replaced, arguments that a person has edited, a person's answer to a question. It
// changes nothing and may run any number of times. It fails for good where the format itself is wrong.
func (a *Activities) CheckOutput(ctx context.Context, request contract.OutputRequest) (contract.OutputReply, error) {
	defer a.heartbeat(ctx)()
	a.config.At(contract.WithPlace(ctx, contract.Place{WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID}), contract.Checking)
	checker, err := a.outputs.of(request.Format)
	if err != nil {
		return contract.OutputReply{}, domain.AsError(err)
	}
	return contract.OutputReply{Invalid: checker.Check(request.Text)}, nil
}

// outputMode is how the model is told of the response format: as the definition
// says, else by the provider's own feature, else as a tool, else in the system
// prompt. Nothing where there is no format.
func (a *Activities) outputMode(definition domain.Definition, provider inference.Provider) (domain.OutputMode, error) {
	format := definition.Format
	if _, err := a.outputs.of(format); err != nil {
		return "", err
	}
	if format.Type == "" || format.Type == domain.FormatText {
		return "", nil
	}
	if format.Mode != "" {
		return format.Mode, a.tellable(definition, format.Mode, provider)
	}
	modes := enum.Known[domain.OutputMode]() // the last one is never refused
	return modes[slices.IndexFunc(modes, func(mode domain.OutputMode) bool {
		return a.tellable(definition, mode, provider) == nil
	})], nil
}

// tellable says why a model cannot be told of a format in a mode.
func (a *Activities) tellable(definition domain.Definition, mode domain.OutputMode, provider inference.Provider) error {
	config, format, facts := definition.Model, definition.Format, a.known(definition.Model)
	formatter, native := provider.(inference.Formatter)
	switch mode {
	case domain.OutputNative:
		if !native {
			return domain.Invalidf("response_format.mode: provider %s has no response formats of its own; leave mode out, or give %s or %s",
				domain.Shorten(config.Provider, 64), domain.OutputTool, domain.OutputInstruction)
		}
		if format.Type == domain.FormatSchema && cannot(facts.JSONSchema) {
			return lacks("response_format.mode", config, facts, "JSON Schema of its own", fmt.Sprintf("leave mode out, give %s or %s", domain.OutputTool, domain.OutputInstruction))
		}
		return formatter.CheckFormat(config, format, definition.UsesTools())
	case domain.OutputTool:
		if cannot(facts.Tools) {
			return lacks("response_format.mode", config, facts, "tools", fmt.Sprintf("leave mode out, give %s", domain.OutputInstruction))
		}
		if !output.IsObject(format) {
			return domain.Invalidf("response_format.mode: the arguments of a tool are an object, and the schema's type is not object; put the value into a property of an object, leave mode out, or give %s", domain.OutputInstruction)
		}
	case domain.OutputInstruction:
	}
	return nil
}

// checkers keeps those of formats that were used lately: to compile a long schema for each answer takes longer than all else that
// is done with the answer. Its zero value is ready.
type checkers struct {
	mu   sync.Mutex
	kept map[domain.Digest]*output.Checker
}

// maxCheckers bounds how many are kept: their schemas are of 100 KB at most.
const maxCheckers = 32

func (c *checkers) of(format domain.ResponseFormat) (*output.Checker, error) {
	key := domain.DigestOf([]byte(format.Type), []byte(format.Name), format.Schema)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.kept[key]; ok {
		return known, nil
	}
	checker, err := output.Compile(format)
	if err != nil {
		return nil, err
	}
	if c.kept == nil || len(c.kept) >= maxCheckers {
		c.kept = make(map[domain.Digest]*output.Checker)
	}
	c.kept[key] = checker
	return checker, nil
}
