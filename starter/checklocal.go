package main

import (
	"context"
	"os"
	"strings"

	"everstep/activities/modelfacts"
	"everstep/starter/devserver"
	"everstep/worker/host"
)

func (p *program) checkStorage(ctx context.Context, configured bool, s *server) check {
	const name = "storage"
	if named := p.env.value(variableStorage); named != "" {
		if _, err := os.Stat(named); os.IsNotExist(err) && !strings.Contains(named, "://") {
			return ok(name, "%s does not exist yet; a worker makes it", named)
		}
		bucket, err := host.OpenStorage(ctx, named)
		if err != nil {
			return ok(name, "%s", err).fail("")
		}
		_ = bucket.Close() // it was only tried
		return ok(name, "%s can be written and read", named)
	}
	if configured {
		return ok(name, "not known: it is configured on the workers").warn("give each worker of a task queue the same " + variableStorage)
	}
	stateFile := p.stateFile()
	if s != nil {
		stateFile = s.local.StateFile
	}
	if stateFile == "" {
		found, err := devserver.DefaultStateFile()
		if err != nil {
			return ok(name, "%s", err).fail("")
		}
		stateFile = found
	}
	return ok(name, "%s, beside the dev server's state", devserver.StorageDir(stateFile))
}

func (p *program) checkFolder(f stackFlags) check {
	const name = "folder"
	dir, err := p.folder(f.dir)
	if err != nil {
		return ok(name, "%s", err).fail("")
	}
	return ok(name, "file tools would work in %s", dir)
}

func (p *program) checkModel(ctx context.Context) check {
	const name = "model"
	text := p.env.value(variableModel)
	if text == "" {
		return ok(name, "no default; each start names one (providers: %s)", strings.Join(host.ProviderNames(), ", "))
	}
	model, err := readModel(variableModel, text)
	if err == nil {
		err = checkModel(ctx, model)
	}
	if err != nil {
		return ok(name, "%s", err).fail("mend " + variableModel)
	}
	return ok(name, "%s unless another is named", model)
}

// checkPrices says which prices a worker with this environment would know, or
// all that is wrong with their file.
func (p *program) checkPrices() []check {
	const name = "prices"
	file := p.env.prices()
	if file == "" {
		return []check{ok(name, "those built in; %s names a file of others", variablePrices)}
	}
	if _, err := modelfacts.Load(file); err != nil {
		var checks []check
		for line := range strings.SplitSeq(err.Error(), "\n") {
			checks = append(checks, ok(name, "%s: %s", variablePrices, line).fail(""))
		}
		return checks
	}
	return []check{ok(name, "those in %s, and those built in for other models", file)}
}
