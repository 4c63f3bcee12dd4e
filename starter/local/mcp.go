package local

import (
	"os/exec"
	"strings"

	"github.com/spf13/pflag"

	"everstep/activities/mcp"
	"everstep/worker/host"
	"everstep/worker/host/statefile"
)

// MCPFlags are those of commands that use MCP servers themselves.
type MCPFlags struct{ file, dir string }

// Register adds the flags to those of a command.
func (f *MCPFlags) Register(set *pflag.FlagSet) {
	set.StringVar(&f.file, "mcp", "", "the `FILE` of the MCP servers ("+host.MCPVariable+")")
	set.StringVar(&f.dir, "dir", "", "the `FOLDER` that they are told to work in ("+VariableDir+"; the current one unless given)")
}

// mcpConfig is what a worker of this machine would be told of MCP servers.
func (m *Machine) mcpConfig(f MCPFlags) (host.Config, error) {
	dir, err := m.Folder(f.dir)
	state, _ := statefile.Resolve(m.stateFile()) // without one, what a person was asked for is found nowhere
	return host.Config{MCP: m.Env.or(f.file, host.MCPVariable), Dir: dir, Variables: m.Env.LookupEnv, Connection: host.Connection{State: state}}, err
}

// MCPServers are those that a file names, neither started nor asked; nil: no file is
// named. Close ends those that were.
func (m *Machine) MCPServers(f MCPFlags) (*mcp.Servers, error) {
	config, err := m.mcpConfig(f)
	if err != nil {
		return nil, err
	}
	config.Ask = host.Terminal()
	servers, err := config.Servers(nil)
	if err != nil {
		return nil, invalid("%s", err)
	}
	return servers, nil
}

// checkMCP says of each MCP server whether a worker could start or reach it, and
// starts none.
func (m *Machine) checkMCP(f Flags) []Check {
	config, err := m.mcpConfig(MCPFlags{dir: f.dir})
	if err != nil || config.MCP == "" {
		return []Check{ok("no servers; %s names a file of them", host.MCPVariable)}
	}
	servers, err := config.MCPServers()
	if err != nil {
		return []Check{broken(err, "")}
	}
	var checks []Check
	for _, s := range servers {
		address, _, _ := strings.Cut(s.URL, "?") // what follows may be a secret, and so may be an argument
		c := ok("%s; %s asks it", address, m.Again("mcp", "check", s.Name))
		path, err := exec.LookPath(s.Command)
		switch {
		case s.Disabled:
			c = ok("its file says disabled: it is not started")
		case s.Problem != "":
			c = ok("%s", s.Problem).fail("")
		case s.Command != "" && err != nil:
			c = ok("%s", err).fail("install the program, or name it by its path in " + config.MCP)
		case s.Command != "":
			c = ok("%s; %s starts it", path, m.Again("mcp", "check", s.Name))
		}
		if len(s.Notes) > 0 {
			c.Detail += "; " + strings.Join(s.Notes, "; ")
		}
		checks = append(checks, c.of(s.Name))
	}
	return checks
}
