package host

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"everstep/activities/artifact"
	"everstep/activities/asking"
	"everstep/activities/record"
	"everstep/activities/shell"
	"everstep/activities/todo"
	"everstep/activities/tool"
	"everstep/activities/waiting"
	"everstep/activities/web"
	"everstep/domain"
)

// OptionalTools are the tools that Everstep has beside those for files. A worker has
// those of them that its configuration names.
func OptionalTools() []domain.ToolSpec {
	return ofEach(optionalTools(), tool.Tool.Spec)
}

// optionalTools are only for what they say of themselves.
func optionalTools() []tool.Tool {
	return slices.Concat(new(web.Client).Tools(), []tool.Tool{new(shell.Shell).Tool()}, harmless(), []tool.Tool{artifact.New(nil).Tool(), new(record.Store).Tool()})
}

// harmless touch nothing but the agent itself.
func harmless() []tool.Tool { return append(waiting.Tools(), todo.Tool(), asking.Tool()) }

// OptionalNames are the names of OptionalTools.
func OptionalNames() []string {
	return ofEach(OptionalTools(), func(spec domain.ToolSpec) string { return spec.Name })
}

// turnedOn are those of some tools that the configuration names.
func (c Config) turnedOn(tools []tool.Tool) []tool.Tool {
	return slices.DeleteFunc(tools, func(t tool.Tool) bool { return !slices.Contains(c.BuiltinTools, t.Spec().Name) })
}

// addOptional adds those that the configuration names.
func (w *Worker) addOptional() error {
	c := w.config
	if err := checkOptional(c.BuiltinTools); err != nil {
		return invalid("builtin-tools: %s; see --builtin-tools (EVERSTEP_BUILTIN_TOOLS)", err)
	}
	client, err := web.New(web.Config{Allow: c.HTTPAllow, Proxy: c.HTTPProxy.Reveal()})
	if err != nil {
		return invalid("HTTP tools: %s; see --http-allow (EVERSTEP_HTTP_ALLOW) and EVERSTEP_HTTP_PROXY", err)
	}
	w.tools = append(w.tools, c.turnedOn(append(client.Tools(), harmless()...))...)
	if !slices.Contains(c.BuiltinTools, shell.Name) {
		return nil
	}
	if w.dir == "" {
		return invalid("dir: shell needs a folder to run commands in; name one with --dir (EVERSTEP_DIR)")
	}
	if err := checkShellEnv(c.ShellEnv); err != nil {
		return invalid("shell-env: %s; see --shell-env (EVERSTEP_SHELL_ENV)", err)
	}
	w.shell, err = shell.Open(shell.Config{Dir: w.dir, Env: c.ShellEnv, Hidden: c.unseen(w.dir), Network: c.ShellNetwork, Confined: c.ShellConfined})
	if err != nil {
		return invalid("shell: %s", err)
	}
	w.tools = append(w.tools, w.shell.Tool())
	return nil
}

// addKept adds read_artifact and execution_history, where the configuration names them, and what they read.
func (w *Worker) addKept() error {
	artifacts, history := slices.Contains(w.config.BuiltinTools, artifact.Name), slices.Contains(w.config.BuiltinTools, domain.HistoryTool)
	switch {
	case artifacts && w.storage == nil:
		return invalid("builtin-tools: %s reads what the storage keeps; name one with --storage (EVERSTEP_STORAGE)", artifact.Name)
	case history && w.records == nil:
		return invalid("builtin-tools: %s reads what is recorded; name a storage with --storage (EVERSTEP_STORAGE), or a store with --records (%s)", domain.HistoryTool, RecordsVariable)
	}
	if artifacts {
		w.artifacts = artifact.New(w.storage)
		w.tools = replace([]tool.Tool{w.artifacts.Tool()}, w.tools)
	}
	if history {
		w.tools = replace([]tool.Tool{w.records.Tool()}, w.tools)
	}
	return nil
}

// ShellHold says what would keep the commands of such a worker's tool shell in on this machine.
func ShellHold(environment Environment) (shell.Hold, error) {
	config, err := readAlone(environment, "shell-env", "shell-network", "shell-confined")
	if err != nil {
		return shell.Hold{}, err
	}
	return shell.Examine(shell.Config{Network: config.ShellNetwork, Confined: config.ShellConfined})
}

// keyFiles are the files that hold keys.
func (c Config) keyFiles() []string {
	var all []string
	for _, v := range vendors() {
		if file := c.Vendors[v.Name].KeyFile; file != "" {
			all = append(all, file)
		}
	}
	for _, file := range c.Connection.credentials.files {
		all = append(all, file.path)
	}
	return append(all, c.mcpKeyFiles()...)
}

func checkOptional(names []string) error {
	for _, name := range names {
		if !slices.Contains(OptionalNames(), name) {
			return fmt.Errorf("there is no %q; there are %s", domain.Shorten(name, 64), strings.Join(OptionalNames(), ", "))
		}
	}
	return nil
}

// checkShellEnv refuses what holds a key or may: models decide what commands do with it.
func checkShellEnv(names []string) error {
	variable := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	for _, name := range names {
		switch {
		case !variable.MatchString(name):
			return fmt.Errorf("%q is no name of a variable", domain.Shorten(name, 64))
		case slices.ContainsFunc(vendors(), func(v vendor) bool { return slices.Contains(v.keys(), name) }), strings.HasPrefix(name, "TEMPORAL_"), name == "EVERSTEP_PROXY", name == "EVERSTEP_HTTP_PROXY":
			return fmt.Errorf("%s may hold a key, which commands do not get", name)
		}
	}
	return nil
}
