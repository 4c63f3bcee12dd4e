package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.temporal.io/sdk/log"
	"golang.org/x/term"

	"everstep/activities/inference/wire"
	"everstep/activities/mcp"
	"everstep/activities/shell"
	"everstep/activities/warden"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/worker/host/statefile"
)

// MCPVariable names the file of MCP servers.
const MCPVariable = mcp.FileVariable

// MCPServers are what the file of MCP servers says, with its variables; none: the configuration names no file. A server
// that cannot be started, or should not be, has a Problem.
func (c Config) MCPServers() ([]mcp.Server, error) {
	if c.MCP == "" {
		return nil, nil
	}
	c = c.withDefaults()
	wrong := func(err error) error {
		return invalid("file of MCP servers (%s, --mcp of worker and mcp): %s", MCPVariable, err)
	}
	if inside(c.MCP, c.Dir) {
		return nil, wrong(fmt.Errorf("the file is in %s, where file tools could add programs for the worker to start; move it, or name another directory with --dir (EVERSTEP_DIR)", c.Dir))
	}
	configs, err := mcp.Load(c.MCP)
	if err != nil {
		return nil, wrong(err)
	}
	for i := range configs {
		s := configs[i].With(c.plain, c.named)
		if program, err := exec.LookPath(s.Command); s.Command != "" && err == nil && inside(program, c.Dir) {
			s.Problem = cmp.Or(s.Problem, fmt.Sprintf("its program is in %s, where file tools could change what the worker starts; move it, or name another directory with --dir (EVERSTEP_DIR)", c.Dir))
		}
		unset := s.Problem != "" && strings.Contains(s.EnvFile, "${") // which the problem names
		if s.EnvFile != "" && !unset && inside(s.EnvFile, c.Dir) {
			s.Problem = fmt.Sprintf("envFile: %s is in %s, where file tools would read it and could change what the program is told; move it, or name another directory with --dir (EVERSTEP_DIR)", s.EnvFile, c.Dir)
		}
		configs[i] = s
	}
	return configs, nil
}

// Servers are the MCP servers that the configuration names. They are neither started
// nor asked; Close ends those that were. What servers say goes to the log, which may
// be nil. Nil: it names no file.
func (c Config) Servers(logger log.Logger) (*mcp.Servers, error) {
	c = c.withDefaults()
	configs, err := c.MCPServers()
	if err == nil && c.Ask != nil {
		if err = c.asked(configs); err == nil {
			configs, err = c.MCPServers()
		}
	}
	if err != nil || c.MCP == "" {
		return nil, err
	}
	options := mcp.Options{Secret: c.named, Hide: c.secrets.add, Keep: c.secrets.fix, Redact: c.secrets.hide, Said: c.secrets.Hide, Root: c.Dir, Log: logger}
	programs := slices.ContainsFunc(configs, func(s mcp.Server) bool { return s.Command != "" })
	if programs && logger != nil && !warden.Whole() {
		logger.Warn("what an MCP server starts may outlive this worker where that is killed: main does not begin with host.Begin, or this is not Linux")
	}
	return mcp.Open(configs, options), nil
}

// checkBound refuses a limit that could not hold: the calls of a stateful server go to the worker that has the agent's
// session, and by no queue of the tool.
func checkBound(servers *mcp.Servers, limits map[string]contract.ToolLimit) error {
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if server, ok := domain.ServerOf(name); ok && servers.Stateful(server) {
			return invalid("tool limits: %s is of a stateful MCP server, whose calls go to the worker that has the agent's session; leave its limit out", name)
		}
	}
	return nil
}

// mcpKeyFiles are the files of what MCP servers are given.
func (c Config) mcpKeyFiles() (files []string) {
	if c.MCP == "" {
		return nil
	}
	servers, _ := c.MCPServers() // what is wrong with it is said where it is used
	for _, s := range servers {
		if s.EnvFile != "" {
			files = append(files, s.EnvFile)
		}
		for _, name := range s.Secrets() {
			if path, ok := c.Variables(variableOf(name) + fileEnd); ok {
				files = append(files, path)
			}
			if kept := c.kept(name); kept != "" {
				files = append(files, kept)
			}
		}
	}
	return files
}

// fileEnd is how the name of a variable ends that names the file of a secret.
const fileEnd = "_FILE"

// Begin is for programs that run workers without Main: call it first thing in main.
// A worker starts its program again beside each MCP server, and beside each command of the
// tool shell, to end that with itself, and Begin then does not return.
func Begin() {
	warden.Serve()
	shell.Serve()
}

// plainVariables hold no secrets, and stay in what is said.
var plainVariables = []string{"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}

// plain is what ${NAME} stands for where others on the machine see it: no secret, so it is not hidden.
func (c Config) plain(name string) (string, error) {
	if _, filed := c.Variables(variableOf(name) + fileEnd); filed {
		return "", fmt.Errorf("${%s}: %s%s makes it a secret, and others on the machine see what stands here; name it in env or headers alone", name, name, fileEnd)
	}
	c.secrets = nil
	return c.named(name)
}

var notInVariable = regexp.MustCompile(`[^A-Z0-9]+`)

// variableOf is the variable that a name in a file of servers means: of what the file asks for, ${input:api-key}, it is API_KEY.
func variableOf(name string) string {
	if id, ok := strings.CutPrefix(name, mcp.InputMark); ok {
		return notInVariable.ReplaceAllString(strings.ToUpper(id), "_")
	}
	return name
}

// named is what ${NAME} stands for in a file of servers: a variable, or what the file
// holds that NAME_FILE names. It is a secret of the worker's, like a vendor's key.
func (c Config) named(name string) (string, error) {
	if name == mcp.Workspace {
		if c.Dir == "" {
			return "", fmt.Errorf("${%s}: the worker has no folder; name one with --dir (EVERSTEP_DIR)", name)
		}
		return c.Dir, nil
	}
	variable := variableOf(name)
	file := variable + fileEnd
	text, given := c.Variables(variable)
	path, filed := c.Variables(file)
	if kept := c.kept(name); !given && !filed && kept != "" {
		path, filed = kept, true
	}
	switch {
	case given && filed:
		return "", fmt.Errorf("${%s}: both %s and %s are set; unset one of them", name, variable, file)
	case filed && inside(path, c.Dir):
		return "", fmt.Errorf("${%s}: the file of %s is in %s, where file tools would read it; move it", name, file, c.Dir)
	case filed:
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("${%s}: %s names no file that can be read: %w", name, file, errors.Unwrap(err))
		}
		key, err := wire.FileKey(path)()
		c.secrets.add(key)
		return key, err
	case !given || text == "":
		return "", mcp.Unset(fmt.Sprintf("${%s}: neither %s nor %s is set; set one where the worker runs", name, variable, file))
	case strings.ContainsAny(text, "\r\n\x00"):
		return "", fmt.Errorf("${%s}: %s holds a line end or a zero byte", name, variable)
	}
	if !slices.Contains(plainVariables, name) && !strings.HasPrefix(name, "XDG_") && !strings.HasPrefix(name, "LC_") {
		c.secrets.fix(text)
	}
	return text, nil
}

// Terminal asks a person at this program's terminal, and shows nothing of what is typed; nil: it has none.
func Terminal() func(question string) (string, error) {
	in, out := int(os.Stdin.Fd()), os.Stderr
	if !term.IsTerminal(in) || !term.IsTerminal(int(out.Fd())) {
		return nil
	}
	return func(question string) (string, error) {
		_, _ = fmt.Fprint(out, question)
		typed, err := term.ReadPassword(in)
		_, _ = fmt.Fprintln(out)
		return strings.TrimSpace(string(typed)), err
	}
}

// inputFile is where a worker keeps what a person was asked for under the inputs of its file of MCP servers.
func (c Config) inputFile(id string) (string, error) {
	state := c.Connection.State
	if state == "" {
		var err error
		if state, err = statefile.Default(); err != nil {
			return "", err
		}
	}
	file, err := filepath.Abs(c.MCP)
	return filepath.Join(filepath.Dir(state), "inputs", domain.DigestOf([]byte(file), []byte(id)).String()), err
}

// asked has a person asked for the inputs of servers that nothing else says, and keeps them.
func (c Config) asked(servers []mcp.Server) error {
	for _, s := range servers {
		for _, input := range s.Inputs {
			_, err := c.named(mcp.InputMark + input.ID)
			if _, unset := errors.AsType[mcp.Unset](err); !unset || s.Disabled || input.Default != "" {
				continue
			}
			text, err := c.Ask(fmt.Sprintf("%s (%s), for MCP server %s: ", visible(input.ID), visible(input.Description), s.Name))
			if err != nil || text == "" {
				continue // what is missing is the server's problem
			}
			file, err := c.inputFile(input.ID)
			if err == nil && inside(file, c.Dir) {
				err = fmt.Errorf("%s is in %s, where file tools would read it; name another directory with --dir (EVERSTEP_DIR)", file, c.Dir)
			}
			if err == nil {
				err = os.MkdirAll(filepath.Dir(file), 0o700)
			}
			if err == nil {
				err = os.WriteFile(file, []byte(text+"\n"), 0o600)
			}
			if err != nil {
				return fmt.Errorf("what was asked for cannot be kept: %w", err)
			}
		}
	}
	return nil
}

// kept is the file of an input that a person was asked for; empty: there is none.
func (c Config) kept(name string) string {
	id, asks := strings.CutPrefix(name, mcp.InputMark)
	if !asks {
		return ""
	}
	file, err := c.inputFile(id)
	if info, bad := os.Stat(file); err != nil || bad != nil || info.Mode()&fs.ModeType != 0 {
		return ""
	}
	return file
}
