package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"everstep/activities/openai"
	"everstep/activities/scripted"
	"everstep/domain"
	"everstep/domain/spelling"
	"everstep/worker/host"
)

const modelForm = "write it as PROVIDER/MODEL, such as " + openai.Name + "/gpt-5-mini or " + scripted.Name + "/FILE.yaml"

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

// checkModel says at once what a worker of this program would say of a model,
// keys aside: a worker that is up may have others than this process.
func checkModel(ctx context.Context, model domain.LLMConfig) error {
	if model.Provider == scripted.Name {
		if err := scripted.New().Check(ctx, model); err != nil {
			return usage("model: " + err.Error())
		}
		return nil
	}
	known := host.ProviderNames()
	if slices.Contains(known, model.Provider) {
		return nil
	}
	text := fmt.Sprintf("model: there is no provider %q; there are %s", domain.Shorten(model.Provider, 100), strings.Join(known, ", "))
	if near, ok := spelling.Nearest(model.Provider, known); ok {
		text += fmt.Sprintf("; did you mean %s/%s?", near, model.Model)
	}
	return usage(text)
}
