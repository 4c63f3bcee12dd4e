package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"everstep/activities/mcp"
	"everstep/domain"
	"everstep/worker/host/statefile"
)

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
