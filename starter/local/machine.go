package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	sdk "go.temporal.io/sdk/client"

	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
	"everstep/worker/host/statefile"
)

// A Machine is what flags and variables say of servers, and how processes are started.
type Machine struct {
	Env        Environment
	Connection *host.Flags // with State, what the shared flags said
	State      string
	Executable func() (string, error) // starts this program again, as a worker or a supervisor
	// Say tells the user something that is not the answer, in one line.
	Say   func(format string, args ...any)
	Again func(words ...string) string // a command line that reaches the same server as this one

	reached *Stack // that of the newest server that was to be reached
}

// Progress tells the user a line that was made elsewhere.
func (m *Machine) Progress(text string) { m.Say("%s", text) }

// Full says why the dev server that was to be reached can record nothing any more; empty: it can.
func (m *Machine) Full() string { return m.reached.Full() }

// Flags are those of commands that bring up what they need.
type Flags struct {
	TaskQueue string
	dir       string
}

// Register adds the flags to those of a command.
func (f *Flags) Register(set *pflag.FlagSet) {
	set.StringVar(&f.TaskQueue, "task-queue", "", "the task queue's `NAME`, where workers listen ("+VariableTaskQueue+"); but for "+contract.DefaultTaskQueue+" they are your own, or dev's")
	set.StringVar(&f.dir, "dir", "", "the `FOLDER` for file tools, where this command brings up the worker ("+VariableDir+"; the current one unless given)")
}

// Configured is the server that flags, variables or a profile name, if they do.
func (m *Machine) Configured() (host.Connection, error) {
	connection, err := host.ConnectionFromEnvironment(host.Connection{}, m.Env, m.Connection)
	if err == nil && !connection.Configured && cmp.Or(connection.Namespace, sdk.DefaultNamespace) != sdk.DefaultNamespace {
		err = invalid("namespace: the dev server has none but %s; name the server of %s with --address or %s", sdk.DefaultNamespace, connection.Namespace, VariableAddress)
	}
	return connection, err
}

// stateFile is the state file of the dev server; empty is the default one.
func (m *Machine) stateFile() string { return m.Env.or(m.State, VariableState) }

// knownStateFile is the state file of the dev server, also where it is the default.
func (m *Machine) knownStateFile() (string, error) {
	if file := m.stateFile(); file != "" {
		return file, nil
	}
	return statefile.Default()
}

// Folder is the root of the file tools, absolute.
func (m *Machine) Folder(flag string) (string, error) {
	dir, named := m.Env.or(flag, VariableDir), "dir"
	if flag == "" && dir != "" {
		named = VariableDir
	}
	dir, err := filepath.Abs(dir) // nothing is the current one
	if err != nil {
		return "", invalid("%s: %s; name another folder", named, err)
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return "", invalid("%s: there is no folder %s; name one that exists", named, dir)
	case err != nil:
		return "", invalid("%s: %s; name another folder", named, err)
	case !info.IsDir():
		return "", invalid("%s: %s is not a folder; name one", named, dir)
	}
	return dir, nil
}

// storage is where workers of ours keep parts of long conversations.
func (m *Machine) storage(stateFile string) string {
	return cmp.Or(m.Env.Value(variableStorage), statefile.StorageDir(stateFile))
}

// knownStorage is the storage of the workers, as far as it is known here: the one that the environment names, else, where
// no server is named, the one of the dev server. Empty: it is not known.
func (m *Machine) knownStorage() string {
	if named := m.Env.Value(variableStorage); named != "" {
		return named
	}
	connection, err := m.Configured()
	if err != nil || connection.Configured {
		return ""
	}
	stateFile, err := statefile.Resolve(m.stateFile())
	if err != nil {
		return "" // whoever brings the server up says why
	}
	return statefile.StorageDir(stateFile)
}

// restartDelay is between two tries to bring a part of the stack back.
const restartDelay = 200 * time.Millisecond

// ownWorker is the server that is configured, if one is, and whether a command would bring up a worker of its own: none is, and no
// task queue is named that a worker of the user's own may serve.
func (m *Machine) ownWorker(f Flags) (configured host.Connection, own bool, err error) {
	if configured, err = m.Configured(); err != nil {
		return configured, false, err
	}
	queue, err := m.Env.taskQueue(f.TaskQueue)
	return configured, !configured.Configured && queue == contract.DefaultTaskQueue, err
}

// What follows is all that the commands read of the environment, and all they hand
// on of it. What names a Temporal server (TEMPORAL_…) and what configures a
// worker is read by worker/host.
const (
	VariableModel     = "EVERSTEP_MODEL"      // the model of commands that get no --model
	VariableModels    = "EVERSTEP_MODELS"     // what other tools' words for models stand for
	VariableState     = "EVERSTEP_STATE"      // the state file of the dev server
	VariableTemporal  = "EVERSTEP_TEMPORAL"   // the temporal CLI to use as dev server
	VariableTaskQueue = "EVERSTEP_TASK_QUEUE" // where new agents look for workers
	// the trusted values by which agents can be found
	VariableIndexTrusted = "EVERSTEP_INDEX_TRUSTED"
	VariableDir          = "EVERSTEP_DIR"     // the root of the file tools
	variableStorage      = "EVERSTEP_STORAGE" // where workers keep parts of long conversations
	// the tools that workers have beside those for files
	variableBuiltinTools = "EVERSTEP_BUILTIN_TOOLS"
	VariablePrices       = "EVERSTEP_PRICES"  // a worker's file of prices
	VariableAddress      = "TEMPORAL_ADDRESS" // Temporal's own
	VariableNoColor      = "NO_COLOR"
	variableColumns      = "COLUMNS"
)

// An Environment is where variables are read from.
type Environment struct{ host.Environment }

// Value is a variable; an empty one counts as none.
func (e Environment) Value(name string) string {
	value, _ := e.LookupEnv(name)
	return value
}

// or is what a flag said, else the variable.
func (e Environment) or(flag, name string) string {
	return cmp.Or(flag, e.Value(name))
}

func (e Environment) taskQueue(flag string) (string, error) {
	queue := e.or(flag, VariableTaskQueue)
	if queue == "" {
		return contract.DefaultTaskQueue, nil
	}
	if err := host.CheckName(queue); err != nil {
		return "", invalid("--task-queue (%s): %s", VariableTaskQueue, err)
	}
	return queue, nil
}

// list are the words of a variable that commas part. It is never nil.
func (e Environment) list(name string) []string {
	words := []string{}
	for word := range strings.SplitSeq(e.Value(name), ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// Columns is the width that the user asked for, zero where there is none.
func (e Environment) Columns() int {
	columns, _ := strconv.Atoi(e.Value(variableColumns)) // what is no number is none
	return columns
}

// file is the file that a variable names, absolute: workers have other folders.
func (e Environment) file(name string) string {
	file := e.Value(name)
	if absolute, err := filepath.Abs(file); file != "" && err == nil {
		return absolute
	}
	return file
}

// forWorker is without what names another server, and what a worker's flags say.
func (e Environment) forWorker() []string {
	keyFiles := host.KeyFileVariables()
	var kept []string
	for _, entry := range e.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case strings.HasPrefix(name, "TEMPORAL_"):
		case name == VariableTaskQueue || name == VariableDir || name == variableStorage:
		case name == host.RecordsVariable && e.Value(name) != host.RecordsOff && !strings.Contains(e.Value(name), "://"),
			name == VariablePrices || name == host.MCPVariable || slices.Contains(keyFiles, name):
			kept = append(kept, name+"="+e.file(name))
		default:
			kept = append(kept, entry)
		}
	}
	return kept
}

func invalid(format string, args ...any) error {
	return &client.Error{Class: client.Invalid, Message: fmt.Sprintf(format, args...)}
}

func unreachable(why error, format string, args ...any) error {
	return &client.Error{Class: client.Unreachable, Message: fmt.Sprintf(format, args...), Err: why}
}

func interrupted(ctx context.Context, text string) error {
	return &client.Error{Class: client.Cancelled, Message: text, Err: ctx.Err()}
}
