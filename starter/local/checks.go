package local

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"everstep/activities/modelfacts"
	"everstep/starter/devserver"
	"everstep/worker/host"
)

// A Verdict says how a check came out.
type Verdict string

const (
	// VerdictOK means that nothing is to be done.
	VerdictOK Verdict = "ok"
	// VerdictWarn means that something is missing that may be needed.
	VerdictWarn Verdict = "warn"
	// VerdictFail means that something is broken.
	VerdictFail Verdict = "fail"
)

// A Check is one line of doctor's report.
type Check struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail"`
	// Fix says what to do, where something is to be done.
	Fix string `json:"fix,omitzero"`

	// Unreachable says that it failed because nobody answers.
	Unreachable bool `json:"-"`
}

func ok(name, format string, args ...any) Check {
	return Check{Name: name, Verdict: VerdictOK, Detail: fmt.Sprintf(format, args...)}
}

func (c Check) warn(fix string) Check { c.Verdict, c.Fix = VerdictWarn, fix; return c }
func (c Check) fail(fix string) Check { c.Verdict, c.Fix = VerdictFail, fix; return c }

func (m *Machine) checkStorage(ctx context.Context, configured bool, s *Server) Check {
	const name = "storage"
	if named := m.Env.Value(variableStorage); named != "" {
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
	stateFile := m.stateFile()
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

func (m *Machine) checkFolder(f Flags) Check {
	const name = "folder"
	dir, err := m.Folder(f.dir)
	if err != nil {
		return ok(name, "%s", err).fail("")
	}
	return ok(name, "file tools would work in %s", dir)
}

func (m *Machine) checkModel(ctx context.Context) Check {
	const name = "model"
	text := m.Env.Value(VariableModel)
	if text == "" {
		return ok(name, "no default; each start names one (providers: %s)", strings.Join(host.ProviderNames(), ", "))
	}
	model, err := ReadModel(VariableModel, text)
	if err == nil {
		err = checkModel(ctx, model)
	}
	if err != nil {
		return ok(name, "%s", err).fail("mend " + VariableModel)
	}
	return ok(name, "%s unless another is named", model)
}

// checkPrices says which prices a worker with this environment would know, or
// all that is wrong with their file.
func (m *Machine) checkPrices() []Check {
	const name = "prices"
	file := m.Env.prices()
	if file == "" {
		return []Check{ok(name, "those built in; %s names a file of others", VariablePrices)}
	}
	if _, err := modelfacts.Load(file); err != nil {
		var checks []Check
		for line := range strings.SplitSeq(err.Error(), "\n") {
			checks = append(checks, ok(name, "%s: %s", VariablePrices, line).fail(""))
		}
		return checks
	}
	return []Check{ok(name, "those in %s, and those built in for other models", file)}
}

// checkProviders says with which key, and where, a worker with this environment
// would reach each provider. It never says what a key is, and reaches nobody.
func (m *Machine) checkProviders(f Flags) []Check {
	reaches, err := host.Reaches(m.Env, m.Env.or(f.dir, VariableDir))
	if err != nil {
		return []Check{ok("providers", "%s", err).fail("")}
	}
	usable := slices.ContainsFunc(reaches, func(r host.Reach) bool { return r.Err == nil && (r.Key != "" || !r.Own) })
	chosen, _, _ := strings.Cut(m.Env.Value(VariableModel), "/")
	var checks []Check
	for _, r := range reaches {
		c := checkReach(r)
		if r.RateLimit != nil && r.Err == nil {
			c.Detail += "; at most " + r.RateLimit.String()
		}
		// A key that nobody misses is nothing to see to.
		if c.Verdict == VerdictWarn && usable && r.Provider != chosen {
			c.Verdict, c.Fix = VerdictOK, ""
		}
		checks = append(checks, c)
	}
	return checks
}

func checkReach(r host.Reach) Check {
	wants := strings.Join(r.Wants, " or ")
	switch {
	case r.Err != nil:
		return ok(r.Provider, "%s", r.Err).fail("")
	case r.KeyFile != "":
		return ok(r.Provider, "%s, with the key in %s (%s)", r.Server, r.KeyFile, r.Key)
	case r.Key != "":
		return ok(r.Provider, "%s, with the key in %s", r.Server, r.Key)
	case !r.Own:
		return ok(r.Provider, "%s, with no key; it may need none", r.Server)
	}
	return ok(r.Provider, "%s, with no key", r.Server).warn("set " + wants + " on the worker")
}
