package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"everstep/activities/openaichat"
	"everstep/activities/scripted"
	"everstep/domain"
	"everstep/domain/spelling"
)

// providers are those that the workers of this program have.
func providers() []string { return []string{scripted.Name, openaichat.Name} }

const modelForm = "write it as PROVIDER/MODEL, such as " + openaichat.Name + "/gpt-5-mini or " + scripted.Name + "/FILE.yaml"

// readModel reads a model's full name; named says where it was given. The file
// of a script becomes absolute, since workers have other current directories.
func readModel(named, text string) (domain.LLMConfig, error) {
	provider, model, ok := strings.Cut(text, "/")
	if !ok || provider == "" || model == "" {
		return domain.LLMConfig{}, usage(fmt.Sprintf("%s: %q is no model; %s", named, domain.Shorten(text, 100), modelForm))
	}
	if provider == scripted.Name {
		path, err := filepath.Abs(model)
		if err != nil {
			return domain.LLMConfig{}, usage(fmt.Sprintf("%s: %q: %s; give the script's full path", named, model, err))
		}
		model = path
	}
	return domain.LLMConfig{Provider: provider, Model: model}, nil
}

// checkModel says at once what a worker of this program would say of a model.
func checkModel(ctx context.Context, model domain.LLMConfig) error {
	switch model.Provider {
	case scripted.Name:
		if err := scripted.New().Check(ctx, model); err != nil {
			return usage("model: " + err.Error())
		}
		return nil
	case openaichat.Name:
		return nil
	}
	if near, ok := spelling.Nearest(model.Provider, providers()); ok {
		return usage(fmt.Sprintf("model: there is no provider %q; did you mean %s/%s?", model.Provider, near, model.Model))
	}
	return usage(fmt.Sprintf("model: there is no provider %q; there are %s", model.Provider, strings.Join(providers(), ", ")))
}
