package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"everstep/domain/contract"
	"everstep/starter/devserver"
	"everstep/worker/host"
)

// A Machine is this machine as a command may use it: what flags and variables say
// of servers, and how processes are started on it.
type Machine struct {
	Env Environment
	// Connection and state are what the shared flags said.
	Connection *host.Flags
	State      string
	// Executable starts this program again, as a worker or a supervisor.
	Executable func() (string, error)
	// Say tells the user something that is not the answer, in one line.
	Say func(format string, args ...any)
	// Again is a command line that reaches the same server as this one.
	Again func(words ...string) string
}

// Progress tells the user a line that was made elsewhere.
func (m *Machine) Progress(text string) { m.Say("%s", text) }

// Flags are those of commands that bring up what they need.
type Flags struct {
	TaskQueue string
	dir       string
}

// Register adds the flags to those of a command.
func (f *Flags) Register(set *pflag.FlagSet) {
	set.StringVar(&f.TaskQueue, "task-queue", "", "the task queue's `NAME`, where workers listen ("+VariableTaskQueue+")")
	set.StringVar(&f.dir, "dir", "", "the `FOLDER` for file tools, where this command brings up the worker ("+VariableDir+"; the current one unless given)")
}

// Configured is the server that flags, variables or a profile name. Its field
// Configured is false where none of them does.
func (m *Machine) Configured() (host.Connection, error) {
	return host.ConnectionFromEnvironment(host.Connection{}, m.Env, m.Connection)
}

// stateFile is the state file of the dev server; empty is the default one.
func (m *Machine) stateFile() string { return m.Env.or(m.State, VariableState) }

// Folder is the root of the file tools, absolute.
func (m *Machine) Folder(flag string) (string, error) {
	dir, named := m.Env.or(flag, VariableDir), "dir"
	if flag == "" && dir != "" {
		named = VariableDir
	}
	dir, err := filepath.Abs(dir) // nothing is the current one
	if err != nil {
		return "", invalid(fmt.Sprintf("%s: %s; name another folder", named, err))
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return "", invalid(fmt.Sprintf("%s: there is no folder %s; name one that exists", named, dir))
	case err != nil:
		return "", invalid(fmt.Sprintf("%s: %s; name another folder", named, err))
	case !info.IsDir():
		return "", invalid(fmt.Sprintf("%s: %s is not a folder; name one", named, dir))
	}
	return dir, nil
}

// storage is where workers of ours keep parts of long conversations.
func (m *Machine) storage(stateFile string) string {
	if named := m.Env.Value(variableStorage); named != "" {
		return named
	}
	return devserver.StorageDir(stateFile)
}

// restartDelay is between two tries to bring a part of the stack back.
const restartDelay = 200 * time.Millisecond

// ownStack reports whether a command would bring up a server and a worker of
// its own: no server is configured, and no task queue is named that a worker of
// the user's own may serve.
func (m *Machine) ownStack(f Flags) (server, worker bool, err error) {
	connection, err := m.Configured()
	if err != nil {
		return false, false, err
	}
	queue, err := m.Env.taskQueue(f.TaskQueue)
	own := err == nil && !connection.Configured
	return own, own && queue == contract.DefaultTaskQueue, err
}
