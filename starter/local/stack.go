package local

import (
	"context"
	"io"

	"everstep/starter/devserver"
)

// A Stack is a server and, where they are ours, the lease on the dev server and
// the worker that serves it while the command lasts.
type Stack struct {
	*Server
	Lease  *LeaseKeeper
	worker *workerKeeper
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
