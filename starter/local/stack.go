package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"everstep/domain/contract"
	"everstep/starter/client"
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

// invalid is the error of flags and variables that are wrong.
func invalid(text string) error { return &client.Error{Class: client.Invalid, Message: text} }

// A Stack is a server and, where they are ours, the lease on the dev server and
// the worker that serves it while the command lasts.
type Stack struct {
	*Server
	Lease  *LeaseKeeper
	worker *workerKeeper
}

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

// BringUp reaches the configured server. Where none is, it joins or starts the
// dev server, and starts a worker unless a process of ours already has one.
func (m *Machine) BringUp(ctx context.Context, f Flags) (*Stack, error) {
	ownServer, ownWorker, err := m.ownStack(f)
	if err != nil {
		return nil, err
	}
	if !ownServer {
		s, err := m.Connect(ctx, f.TaskQueue)
		if err != nil {
			return nil, err
		}
		return &Stack{Server: s}, nil
	}
	dir, err := m.Folder(f.dir)
	if err != nil {
		return nil, err
	}
	if ownWorker {
		if err := checkWorker(m.Env); err != nil {
			return nil, err
		}
	}
	lease, err := m.Lease(ctx, devserver.Config{})
	if err != nil {
		return nil, err
	}
	s := &Stack{Lease: lease}
	if s.Server, err = m.DialDev(ctx, lease.Server(), f.TaskQueue); err != nil {
		s.Close()
		return nil, err
	}
	if !ownWorker {
		return s, nil
	}
	return s, s.keepWorker(m, f, dir, s.taskQueue, nil)
}

// Serve joins or starts the dev server, and keeps a worker on it that says what
// it logs. It connects to nothing.
func (m *Machine) Serve(ctx context.Context, f Flags, cfg devserver.Config, log io.Writer) (*Stack, error) {
	dir, err := m.Folder(f.dir)
	if err != nil {
		return nil, err
	}
	if err := checkWorker(m.Env); err != nil {
		return nil, err
	}
	queue, err := m.Env.taskQueue(f.TaskQueue)
	if err != nil {
		return nil, err
	}
	lease, err := m.Lease(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &Stack{Lease: lease}
	return s, s.keepWorker(m, f, dir, queue, log)
}

// keepWorker has the stack keep a worker, or closes it.
func (s *Stack) keepWorker(m *Machine, f Flags, dir, queue string, log io.Writer) error {
	spec, err := m.WorkerSpec(s.Lease.Server(), queue, dir)
	if err == nil {
		s.worker, err = m.keepWorker(spec, f.dir != "", log)
	}
	if err != nil {
		s.Close()
	}
	return err
}

// Spec is the worker that a stack of this machine keeps.
func (s *Stack) Spec() WorkerSpec { return s.worker.spec }

// Close lets work in progress finish or hands it back, then lets the server go.
// It may be called twice.
func (s *Stack) Close() {
	if s.worker != nil {
		s.worker.Close()
	}
	if s.Server != nil {
		s.Server.Close()
	}
	if s.Lease != nil {
		s.Lease.Close()
	}
	s.worker, s.Server, s.Lease = nil, nil, nil
}

// Failed delivers why the stack is of no more use. It is nil, and so never
// delivers, where the worker is not ours.
func (s *Stack) Failed() <-chan error {
	if s.worker == nil {
		return nil
	}
	return s.worker.failed
}

// Pauses reports whether an execution pauses when this process ends: the dev server
// is ours, and no other process of ours is known to run a worker for the queue.
func (s *Stack) Pauses() bool {
	if s.Lease == nil {
		return false
	}
	if s.worker != nil {
		return s.worker.Serving()
	}
	return !queueServed(s.Lease.Server().StateFile, s.taskQueue)
}

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
