package local

import (
	"context"
	"slices"

	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host/statefile"
)

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

// Ours reports whether an agent's tools are those of a worker of this program, on the dev server, as far as is known.
func (s *Stack) Ours(ctx context.Context, id string) bool { return s.local != nil && s.Own(ctx, id) }

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
