package local

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "go.temporal.io/sdk/client"

	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/devserver"
	"everstep/starter/process"
	"everstep/worker/host"
	"everstep/worker/host/statefile"
)

// A Stack is a Temporal server that answers, the agents on it and, where they are ours,
// the lease on the dev server and the worker that serves it while the command lasts.
type Stack struct {
	Temporal  sdk.Client
	Agents    *client.Client
	address   string
	namespace string
	taskQueue string
	local     *devserver.Server // the dev server, where it is ours

	Lease  *LeaseKeeper
	held   *devserver.Lease // keeps the dev server up that others have brought up
	worker *workerKeeper
	// closing closes the parts above once. They stay set, since what follows an execution may still read them.
	closing sync.Once
	// Unreached says that no server could be reached, so that the agents are those of the records.
	Unreached bool
}

// bringUp joins or starts the dev server, and starts a worker of the task queue of the need, where that is one of ours, unless a
// process of ours already has one. log gets what the worker logs; nil: nobody reads that.
func (m *Machine) bringUp(ctx context.Context, n Need, cfg devserver.Config, worker bool, log io.Writer) (*Stack, error) {
	dir, err := m.Folder(n.dir)
	if _, wrong := m.Env.taskQueue(n.TaskQueue); err == nil {
		err = wrong
	}
	if err == nil && worker {
		err = host.CheckWorker(m.Env)
	}
	if err != nil {
		return nil, err
	}
	lease, err := m.Lease(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s, err := m.DialDev(ctx, lease.Server, n.TaskQueue)
	if err != nil {
		lease.Close()
		return nil, err
	}
	if s.Lease = lease; !worker || n.ID != "" && !s.Own(ctx, n.ID) {
		return s, nil
	}
	spec, err := m.WorkerSpec(lease.Server, s.taskQueue, dir)
	if err == nil {
		spec.log, spec.lacks = log, func(ctx context.Context) error { return m.lackedTool(ctx, s, n) }
		s.worker, err = m.keepWorker(ctx, spec, n.dir != "")
	}
	if err != nil {
		s.Close()
	}
	return s, err
}

// lackedTool says which tool of an agent that is watched the worker brought up for it would not have; nil: none, or nobody
// can tell. An agent that has ended needs none.
func (m *Machine) lackedTool(ctx context.Context, s *Stack, n Need) error {
	if !n.Reads {
		return nil
	}
	id, err := s.Agents.Find(ctx, n.ID)
	if err != nil || s.Agents.OpenOn(ctx, id) == "" {
		return nil
	}
	told, err := s.Agents.Account(ctx, id, account.Definition)
	if err != nil || told.Head.Configuration.Definition == nil {
		return nil
	}
	return m.checkTools(n.Flags, told.Head.Configuration.Definition.Tools)
}

// Serve has the dev server and a worker that says what it logs.
func (m *Machine) Serve(ctx context.Context, f Flags, cfg devserver.Config, log io.Writer) (*Stack, error) {
	return m.bringUp(ctx, Need{Flags: f}, cfg, true, log)
}

// Spec is the worker that a stack of this machine keeps, and folder the one that is served by now.
func (s *Stack) Spec() (spec WorkerSpec, folder string) { return s.worker.spec, s.worker.folder }

// Close lets work in progress finish, then closes what this command has of the server. It may be called twice, and
// while others use the stack.
func (s *Stack) Close() {
	s.closing.Do(func() {
		if s.worker != nil {
			s.worker.Close()
		}
		if s.Temporal != nil {
			s.Temporal.Close()
		}
		if s.Lease != nil {
			s.Lease.Close()
		}
		if s.held != nil {
			_ = s.held.Close() // nothing is left to do with it
		}
	})
}

// Failed delivers why the stack is of no more use: never where the worker is not ours.
func (s *Stack) Failed() <-chan error {
	if s.worker == nil {
		return nil
	}
	return s.worker.failed
}

// A LeaseKeeper has the dev server started again on the same ports when it dies.
type LeaseKeeper struct {
	// Server is the server as it was first met; its ports stay the same.
	Server devserver.Server
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// Lease joins the dev server of ours, or starts it, where the machine says.
func (m *Machine) Lease(ctx context.Context, cfg devserver.Config) (*LeaseKeeper, error) {
	cfg.StateFile = m.stateFile()
	lease, err := m.Acquire(ctx, cfg)
	if err != nil && ctx.Err() != nil {
		return nil, interrupted(ctx, "interrupted; nothing was started")
	}
	if err != nil {
		return nil, err
	}
	if server := lease.Server; server.Started && server.Shared != "" && anotherUser() {
		m.Say("note: the dev server is shared: %s: %s; doctor says what to do", sharedWith, server.Shared)
	}
	background, cancel := context.WithCancel(context.Background())
	k := &LeaseKeeper{Server: lease.Server, cancel: cancel}
	cfg.StateFile = k.Server.StateFile
	cfg.Port, cfg.UIPort = portOf(k.Server.Address), portOf(k.Server.UIURL)
	k.ended.Go(func() { k.keep(background, m, lease, cfg) })
	return k, nil
}

// Acquire joins a dev server, or has this program start it.
func (m *Machine) Acquire(ctx context.Context, cfg devserver.Config) (*devserver.Lease, error) {
	executable, err := m.Executable()
	if err != nil {
		return nil, err
	}
	cfg.Binary, cfg.Supervisor = m.Env.Value(VariableTemporal), []string{executable, devserver.SupervisorCommand}
	if cfg.Progress == nil {
		cfg.Progress = m.Progress
	}
	return devserver.Acquire(ctx, cfg)
}

// Close gives the lease up.
func (k *LeaseKeeper) Close() {
	k.cancel()
	k.ended.Wait()
}

func (k *LeaseKeeper) keep(ctx context.Context, m *Machine, lease *devserver.Lease, cfg devserver.Config) {
	for {
		select {
		case <-ctx.Done():
			_ = lease.Close() // nothing is left to do with it
			return
		case <-lease.Done:
		}
		m.Say("the dev server is gone; starting it again")
		for {
			again, err := m.Acquire(ctx, cfg)
			if err == nil {
				lease = again
				break
			}
			if process.Pause(ctx, restartDelay) != nil {
				return
			}
			m.Say("the dev server does not come back: %s; trying again", err)
			if process.Pause(ctx, 5*time.Second) != nil {
				return
			}
		}
	}
}

// portOf is the port of an address or a URL; zero, any, where it has none.
func portOf(address string) int {
	port, _ := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	return port
}

// Pauses reports whether an execution pauses when this process ends: it keeps the dev server
// up, and nobody else is known to run a worker for the queue.
func (s *Stack) Pauses() bool {
	if s.Lease == nil || s.worker != nil && !s.worker.serving.Load() || s.worker == nil && queueServed(s.Lease.Server.StateFile, s.taskQueue) {
		return false
	}
	return s.Lease.Server.Started || !s.served(context.Background(), s.taskQueue)
}

// Waits is the task queue that an agent's execution waits on for a worker when this process ends; empty:
// it has one, or one that ends with this process, or nobody can say.
func (s *Stack) Waits(id string) string {
	ctx, cancel := context.WithTimeout(context.Background(), askPatience)
	defer cancel()
	queue := s.Agents.OpenOn(ctx, id)
	if s.missing(ctx, queue) == "" || s.local != nil && queueServed(s.local.StateFile, queue) {
		return ""
	}
	return queue
}

// served reports whether another than this process may run a worker for a queue: of a server that cannot be asked, one may.
func (s *Stack) served(ctx context.Context, queue string) bool {
	seen, err := s.Agents.Pollers(ctx, queue)
	return err != nil || slices.ContainsFunc(seen, func(p client.Poller) bool { return !gone(p, s.worker) })
}

// Missing is what an execution lacks that is followed from here, if that is known; empty: nothing.
func (s *Stack) Missing(ctx context.Context) string {
	return s.missing(ctx, s.taskQueue)
}

// MissingFor is what an open agent lacks for what is sent to it.
func (s *Stack) MissingFor(ctx context.Context, id string) string {
	return s.missing(ctx, s.Agents.OpenOn(ctx, id))
}

func (s *Stack) missing(ctx context.Context, queue string) string {
	if queue == "" || s.Temporal == nil || s.worker != nil && queue == s.taskQueue || s.served(ctx, queue) {
		return ""
	}
	return s.Agents.NoWorker(queue) + "; what is begun or sent there waits for one"
}

// Own reports whether an agent's tasks go where a worker of this program takes them, as far as is known.
func (s *Stack) Own(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	queue := s.Agents.OpenOn(ctx, id)
	return queue == "" || queue == contract.DefaultTaskQueue
}

// Local reports whether the server is a dev server of ours.
func (s *Stack) Local() bool { return s.local != nil }

// Full says why nothing can be recorded any more on the dev server's disk; empty: it can, or there is none.
func (s *Stack) Full() string {
	if s == nil || s.local == nil {
		return ""
	}
	if err := statefile.Room(s.local.StateFile); err != nil {
		return err.Error()
	}
	return ""
}

// gone reports whether it is a worker of this machine that has ended, or the one that goes with this process.
func gone(p client.Poller, own *workerKeeper) bool {
	pid, here := p.PID()
	return p.Ended() || here && own != nil && own.pid.Load() == int64(pid)
}
