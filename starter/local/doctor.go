package local

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"everstep/activities/modelfacts"
	"everstep/activities/shell"
	"everstep/starter/devserver"
	"everstep/worker/host"
	"everstep/worker/host/statefile"
)

// A Verdict says how a check came out.
type Verdict string

// The verdicts.
const (
	VerdictOK   Verdict = "ok"   // nothing is to be done
	VerdictWarn Verdict = "warn" // something is missing that may be needed
	VerdictFail Verdict = "fail" // something is broken
)

// A Check is one line of doctor's report.
type Check struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail"`
	Fix     string  `json:"fix,omitzero"` // says what to do, where something is to be done

	Unreachable bool `json:"-"` // it failed because nobody answers
}

func ok(format string, args ...any) Check {
	return Check{Verdict: VerdictOK, Detail: fmt.Sprintf(format, args...)}
}

func broken(why error, fix string) Check { return ok("%s", why).fail(fix) }

func (c Check) warn(fix string) Check { c.Verdict, c.Fix = VerdictWarn, fix; return c }
func (c Check) fail(fix string) Check { c.Verdict, c.Fix = VerdictFail, fix; return c }
func (c Check) of(name string) Check  { c.Name = name; return c }

// Examine makes all checks, in the order in which things are needed.
func (m *Machine) Examine(ctx context.Context, f Flags, version string) (checks []Check) {
	add := func(name string, all ...Check) {
		for _, c := range all {
			c.Name = strings.TrimSpace(name + " " + c.Name)
			checks = append(checks, c)
		}
	}
	add("everstep", ok("%s", version))
	configuration, connection := m.checkConfiguration()
	add("configuration", configuration)
	if !connection.Configured {
		add("dev server", m.checkBinary(ctx))
	}
	server, s := m.checkServer(ctx, connection, f)
	add("server", server)
	if s != nil {
		defer s.Close()
		workers := s.checkWorkers(ctx, m)
		add("attributes", s.checkAttributes(ctx, m))
		add("workers", workers)
		add("builds", s.checkBuilds(ctx)...)
		if workers.Verdict == VerdictOK {
			add("agent", s.checkAgents(ctx)...)
		}
	}
	add("storage", m.checkStorage(ctx, connection.Configured, s))
	add("folder", m.checkFolder(f, connection))
	add("tools", m.checkBuiltinTools())
	add("model", m.checkModel(ctx))
	add("mcp", m.checkMCP(f)...)
	add("prices", m.checkPrices()...)
	add("", m.checkProviders(f)...)
	return checks
}

// askPatience bounds each question of doctor to the server.
const askPatience = 5 * time.Second

func (m *Machine) checkConfiguration() (Check, host.Connection) {
	connection, err := m.Configured()
	switch {
	case err != nil:
		return broken(err, "mend the flag, variable or profile that it names"), connection
	case !connection.Configured:
		return ok("no server is named: a dev server on this machine is used"), connection
	case connection.Address == "":
		return ok("a profile without an address: the local server"), connection
	}
	return ok("the server at %s, namespace %s", connection.Address, cmp.Or(connection.Namespace, "default")), connection
}

// checkBinary says which dev server would be started, without getting one.
func (m *Machine) checkBinary(ctx context.Context) Check {
	configured := m.Env.Value(VariableTemporal)
	candidates := []string{configured}
	if configured == "" {
		candidates = devserver.Cached()
		if path, err := exec.LookPath("temporal"); err == nil {
			candidates = slices.Insert(candidates, 0, path)
		}
	}
	var wrong []string
	for _, path := range candidates {
		found, err := devserver.Find(ctx, devserver.Config{Binary: path})
		if err == nil {
			return ok("Temporal %s in %s", found.Version, found.Path)
		}
		wrong = append(wrong, err.Error())
	}
	if configured != "" {
		return ok("%s", strings.Join(wrong, "; ")).fail("set " + VariableTemporal + " to a temporal CLI that works, or unset it to have one found")
	}
	const fix = "run and dev fetch or build one, once; or install "
	if len(wrong) > 0 {
		return ok("%s", strings.Join(wrong, "; ")).warn(fix + "a newer temporal CLI")
	}
	return ok("no temporal CLI on PATH or in the cache").warn(fix + "the temporal CLI")
}

func (m *Machine) checkStorage(ctx context.Context, configured bool, s *Stack) Check {
	if named := m.Env.Value(variableStorage); named != "" {
		if _, err := os.Stat(named); os.IsNotExist(err) && !strings.Contains(named, "://") {
			return ok("%s does not exist yet; a worker makes it", named)
		}
		bucket, err := host.OpenStorage(ctx, named)
		if err != nil {
			return broken(err, "")
		}
		_ = bucket.Close() // it was only tried
		return ok("%s can be written and read", host.Shown(named))
	}
	if configured {
		return ok("not known: it is configured on the workers").warn("give each worker of a task queue the same " + variableStorage)
	}
	stateFile, err := m.knownStateFile()
	if s != nil {
		stateFile, err = s.local.StateFile, nil
	}
	if err != nil {
		return broken(err, "")
	}
	return ok("%s, beside the dev server's state", statefile.StorageDir(stateFile))
}

func (m *Machine) checkFolder(f Flags, connection host.Connection) Check {
	dir, err := m.Folder(f.dir)
	if err == nil {
		err = connection.Outside(dir)
	}
	if stateFile, unknown := m.knownStateFile(); err == nil && unknown == nil {
		err = host.Apart(dir, host.Kept{Storage: m.storage(stateFile), Records: m.Env.Value(host.RecordsVariable), State: stateFile})
	}
	if err != nil {
		return broken(err, "")
	}
	return ok("file tools would work in %s", dir)
}

// checkBuiltinTools says what a worker would have beside the tools for files, and how
// often they may be called.
func (m *Machine) checkBuiltinTools() Check {
	limits, err := host.ToolLimits(m.Env)
	if err != nil {
		return broken(err, "")
	}
	c := m.checkTurnedOn()
	if len(limits) > 0 {
		c.Detail += "; at most " + strings.Join(limits, "; ")
	}
	return c
}

func (m *Machine) checkTurnedOn() Check {
	on := m.Env.list(variableBuiltinTools)
	allow, err := host.Allowed(m.Env)
	if err != nil {
		return broken(err, "")
	}
	if allow.Tools != nil {
		return ok("%s, as EVERSTEP_ALLOW_TOOLS says", cmp.Or(strings.Join(*allow.Tools, ", "), "none"))
	}
	if len(on) == 0 {
		return ok("those for files; %s turns others on: %s", variableBuiltinTools, strings.Join(host.OptionalNames(), ", "))
	}
	c := ok("those for files, and %s", strings.Join(on, ", "))
	if !slices.Contains(on, shell.Name) {
		return c
	}
	hold, err := host.ShellHold(m.Env)
	if err != nil {
		return ok("shell: %s", err).fail("")
	}
	c.Detail += "; shell: " + hold.String()
	const namespaces = "run the worker as root, or where the system lets its user have namespaces (user.max_user_namespaces, the seccomp and AppArmor of containers)"
	switch {
	case !hold.Confined():
		return c.warn(namespaces + ", or where the kernel has seccomp and Landlock 3; EVERSTEP_SHELL_CONFINED=required keeps it from starting elsewhere")
	case hold.Network:
		return c.warn("unset EVERSTEP_SHELL_NETWORK, unless agents with shell may decide on their own calls")
	case !hold.Namespaces:
		return c.warn(namespaces)
	}
	return c
}

func (m *Machine) checkModel(ctx context.Context) Check {
	text := m.Env.Value(VariableModel)
	if text == "" {
		return ok("no default; each start names one (providers: %s)", strings.Join(host.ProviderNames(), ", "))
	}
	model, err := ReadModel(VariableModel, text)
	if err == nil {
		err = checkModel(ctx, model)
	}
	if err != nil {
		return broken(err, "mend "+VariableModel)
	}
	if allow, err := host.Allowed(m.Env); err == nil && allow.Model(model) != nil {
		return broken(allow.Model(model), "mend "+VariableModel+", or EVERSTEP_ALLOW_MODELS")
	}
	return ok("%s unless another is named", model)
}

// checkPrices says which prices a worker would know, or what is wrong with their file.
func (m *Machine) checkPrices() []Check {
	file := m.Env.file(VariablePrices)
	if file == "" {
		return []Check{ok("those built in; %s names a file of others", VariablePrices)}
	}
	if _, err := modelfacts.Load(file); err != nil {
		var checks []Check
		for line := range strings.SplitSeq(err.Error(), "\n") {
			checks = append(checks, ok("%s: %s", VariablePrices, line).fail(""))
		}
		return checks
	}
	return []Check{ok("those in %s, and those built in for other models", file)}
}

// checkProviders says with which key a worker would reach whom. It shows no key.
func (m *Machine) checkProviders(f Flags) []Check {
	reaches, err := host.Reaches(m.Env, m.Env.or(f.dir, VariableDir))
	if err != nil {
		return []Check{broken(err, "").of("providers")}
	}
	usable := slices.ContainsFunc(reaches, func(r host.Reach) bool { return checkReach(r).Verdict == VerdictOK })
	chosen, _, _ := strings.Cut(m.Env.Value(VariableModel), "/")
	var checks []Check
	for _, r := range reaches {
		c := checkReach(r).of(r.Provider)
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
		return broken(r.Err, "")
	case r.KeyFile != "":
		return ok("%s, with the key in %s (%s)", r.Server, r.KeyFile, r.Key)
	case r.Key != "":
		return ok("%s, with the key in %s", r.Server, r.Key)
	case !r.Own:
		return ok("%s, with no key; it may need none", r.Server)
	}
	return ok("%s, with no key", r.Server).warn("set " + wants + " on the worker")
}
