package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"everstep/activities/files"
	"everstep/domain"
	"everstep/domain/spelling"
	"everstep/starter/client"
	"everstep/worker/host"
)

// checkLocally says what the worker that commands like this one start would say
// of model and tools, before anything is started.
func (p *program) checkLocally(ctx context.Context, f stackFlags, request client.Start) error {
	_, own, err := p.ownStack(f)
	if err != nil || !own || request.Definition.Model.Provider == "" {
		return err
	}
	if err := checkModel(ctx, request.Definition.Model); err != nil {
		return err
	}
	if err := checkTools(request.Definition.Tools); err != nil {
		return err
	}
	return checkOwnWorker(request.Definition)
}

// checkWorker says what is wrong with the variables that configure the worker
// of this command.
func checkWorker(env environment) error {
	config, err := host.FromEnvironment(host.Config{}, withoutServer{env})
	if err != nil {
		return err
	}
	return host.CheckProviders(config)
}

// withoutServer is the environment less what names a server: the worker is told
// which.
type withoutServer struct{ environment }

const temporalPrefix = "TEMPORAL_"

func (w withoutServer) LookupEnv(name string) (string, bool) {
	if strings.HasPrefix(name, temporalPrefix) {
		return "", false
	}
	return w.environment.LookupEnv(name)
}

// Environ is all but those variables.
func (w withoutServer) Environ() []string {
	return slices.DeleteFunc(slices.Clone(w.environment.Environ()), func(entry string) bool {
		return strings.HasPrefix(entry, temporalPrefix)
	})
}

// toolNames are those of the tools that the workers of this program have.
func toolNames() []string {
	var names []string
	for _, t := range new(files.Root).Tools() {
		names = append(names, t.Spec().Name)
	}
	return names
}

// checkTools says at once what a worker of this program would say of tools.
func checkTools(tools []string) error {
	known := toolNames()
	for _, name := range tools {
		if slices.Contains(known, name) {
			continue
		}
		short := domain.Shorten(name, 100)
		if near, ok := spelling.Nearest(name, known); ok {
			return usage(fmt.Sprintf("tool: there is no %q; did you mean %s?", short, near))
		}
		return usage(fmt.Sprintf("tool: there is no %q; there are %s, and others on workers of your own: name their --task-queue",
			short, strings.Join(known, ", ")))
	}
	return nil
}
