package activities

import (
	"context"
	"fmt"
	"slices"

	"everstep/activities/inference"
	"everstep/activities/modelfacts"
	"everstep/domain"
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
