package devserver

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"everstep/worker/host/statefile"
)

// SupervisorCommand is the first argument with which a supervisor is started.
// A program that calls [Acquire] passes what follows it to [Supervise].
const SupervisorCommand = "dev-supervisor"

// Config says which server is wanted. The zero value is the documented default.
// All but StateFile and Progress matter only to the call that starts the
// server: who joins one that is up takes it as it is, and is refused if it runs
// on other ports than those asked for.
type Config struct {
	// StateFile is the SQLite file that keeps the server's state. Default: see
	// [statefile.Default]. Its directory is made if it is missing.
	StateFile string
	// Port and UIPort are the loopback ports of the server and its Web UI. Zero
	// prefers 7233 and 8233 for the default state file, and for another the ports that
	// it had last, else takes any free ones, so that whoever knows one server by its address never meets another
	// there. A port that is given and taken is an error.
	Port, UIPort int
	// Binary is the temporal CLI to use. Default: see [Find].
	Binary string
	// Supervisor is the command line that runs [Supervise]; one argument is
	// added to it. Default: this program with [SupervisorCommand].
	Supervisor []string
	// Progress gets a line at a time of what is done and waited for. Nil is silent.
	// Never called concurrently.
	Progress func(line string) `json:"-"`
	// CodecEndpoint is the URL at which the Web UI has payloads decoded.
	CodecEndpoint string
	// Dynamic holds dynamic configuration beyond the tuned set, JSON by key. A
	// key of the tuned set is overridden.
	Dynamic map[string]string
}

// checked returns the configuration with its defaults, or an error that names
// the field and the fix.
func (c Config) checked() (Config, error) {
	for i, port := range []int{c.Port, c.UIPort} {
		if port < 0 || port > 65535 {
			return c, fmt.Errorf("%s %d: give one from 1 to 65535, or 0 for any free one", []string{"port", "ui port"}[i], port)
		}
	}
	if c.Port != 0 && c.Port == c.UIPort {
		return c, fmt.Errorf("port and ui port are both %d: give two different ones", c.Port)
	}
	for key, value := range c.Dynamic {
		if key == "" || strings.Contains(key, "=") || !json.Valid([]byte(value)) {
			return c, fmt.Errorf("dynamic config %q: value %q must be JSON (text in double quotes)", key, value)
		}
	}
	if c.CodecEndpoint != "" {
		if u, err := url.Parse(c.CodecEndpoint); err != nil || u.Host == "" {
			return c, fmt.Errorf("codec endpoint %q: give a URL such as http://127.0.0.1:8081", c.CodecEndpoint)
		}
	}
	var err error
	if c.StateFile, err = statefile.Resolve(c.StateFile); err != nil {
		return c, err
	}
	if len(c.Supervisor) == 0 {
		self, err := os.Executable()
		if err != nil {
			return c, fmt.Errorf("find this program to supervise the dev server: %w", err)
		}
		c.Supervisor = []string{self, SupervisorCommand}
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	return c, nil
}

func defaultCacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for a dev server: %w: install the temporal CLI, or set XDG_CACHE_HOME", err)
	}
	return filepath.Join(cache, "everstep", "temporal"), nil
}

// supervisorEnvironment is the little that a process needs that outlives the
// one that starts it. Keys of model providers stay out of it.
func supervisorEnvironment() []string {
	keep := []string{"HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER"}
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !slices.Contains(keep, name)
	})
}
