package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/devserver"
)

// A stack is a server and, where they are ours, the lease on the dev server and
// the worker that serves it while the command lasts.
type stack struct {
	*server
	lease  *leaseKeeper
	worker *workerKeeper
}

// stackFlags are those of commands that bring up what they need.
type stackFlags struct {
	taskQueue string
	dir       string
}

func (f *stackFlags) register(command *cobra.Command) {
	command.Flags().StringVar(&f.taskQueue, "task-queue", "", "the task queue's `NAME`, where workers listen ("+variableTaskQueue+")")
	command.Flags().StringVar(&f.dir, "dir", "", "the `FOLDER` for file tools, where this command brings up the worker ("+variableDir+"; the current one unless given)")
}

// ownStack reports whether a command would bring up a server and a worker of
// its own: no server is configured, and no task queue is named that a worker of
// the user's own may serve.
func (p *program) ownStack(f stackFlags) (server, worker bool, err error) {
	connection, err := p.configured()
	if err != nil {
		return false, false, err
	}
	queue, err := p.env.taskQueue(f.taskQueue)
	own := err == nil && !connection.Configured
	return own, own && queue == domain.DefaultTaskQueue, err
}

// bringUp reaches the configured server. Where none is, it joins or starts the
// dev server, and starts a worker unless a process of ours already has one.
func (p *program) bringUp(ctx context.Context, f stackFlags) (*stack, error) {
	ownServer, ownWorker, err := p.ownStack(f)
	if err != nil {
		return nil, err
	}
	if !ownServer {
		s, err := p.connect(ctx, f.taskQueue)
		if err != nil {
			return nil, err
		}
		return &stack{server: s}, nil
	}
	dir, err := p.folder(f.dir)
	if err != nil {
		return nil, err
	}
	if ownWorker {
		if err := checkWorker(p.env); err != nil {
			return nil, err
		}
	}
	lease, err := p.lease(ctx, devserver.Config{})
	if err != nil {
		return nil, err
	}
	s := &stack{lease: lease}
	local := lease.Server()
	if s.server, err = p.dial(ctx, ofDevServer(local), &local, f.taskQueue); err != nil {
		s.close()
		return nil, err
	}
	if !ownWorker {
		return s, nil
	}
	s.worker, err = p.keepWorker(workerSpec{
		address: local.Address, namespace: local.Namespace, taskQueue: s.taskQueue, dir: dir, state: local.StateFile,
	}, f.dir != "", nil)
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// close lets work in progress finish or hands it back, then lets the server go.
// It may be called twice.
func (s *stack) close() {
	if s.worker != nil {
		s.worker.Close()
	}
	if s.server != nil {
		s.server.close()
	}
	if s.lease != nil {
		s.lease.Close()
	}
	s.worker, s.server, s.lease = nil, nil, nil
}

// failed delivers why the stack is of no more use. It is nil, and so never
// delivers, where the worker is not ours.
func (s *stack) failed() <-chan error {
	if s.worker == nil {
		return nil
	}
	return s.worker.failed
}

// own reports whether an execution pauses when this process ends: the dev server
// is ours, and no other process of ours is known to run a worker for the queue.
func (s *stack) own() bool {
	if s.lease == nil {
		return false
	}
	if s.worker != nil {
		return s.worker.Serving()
	}
	return !queueServed(s.lease.Server().StateFile, s.taskQueue)
}

// folder is the root of the file tools, absolute.
func (p *program) folder(flag string) (string, error) {
	dir, named := p.env.or(flag, variableDir), "dir"
	if flag == "" && dir != "" {
		named = variableDir
	}
	dir, err := filepath.Abs(dir) // nothing is the current one
	if err != nil {
		return "", usage(fmt.Sprintf("%s: %s; name another folder", named, err))
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return "", usage(fmt.Sprintf("%s: there is no folder %s; name one that exists", named, dir))
	case err != nil:
		return "", usage(fmt.Sprintf("%s: %s; name another folder", named, err))
	case !info.IsDir():
		return "", usage(fmt.Sprintf("%s: %s is not a folder; name one", named, dir))
	}
	return dir, nil
}

// storage is where workers of ours keep parts of long conversations.
func (p *program) storage(stateFile string) string {
	if named := p.env.value(variableStorage); named != "" {
		return named
	}
	return devserver.StorageDir(stateFile)
}

// restartDelay is between two tries to bring a part of the stack back.
const restartDelay = 200 * time.Millisecond
