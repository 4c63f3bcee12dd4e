package kills

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/google/uuid"
	sdk "go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/worker/host"
)

// A stage is where workers are killed: a server, names that no other proof has on it, and a place for the sockets over
// which workers ask what becomes of them.
type stage struct {
	// at has its address and namespace only.
	at       host.Connection
	temporal sdk.Client
	// prefix is that of its task queues, and of agents that it names.
	prefix  string
	sockets string
}

// newStage has neither a connection nor a place for sockets before it is opened.
func newStage(kind, address, namespace string) stage {
	return stage{at: host.Connection{Address: address, Namespace: namespace}, prefix: kind + "-" + uuid.NewString()[:8]}
}

func (s *stage) open(ctx context.Context) (err error) {
	if s.sockets, err = os.MkdirTemp("", "chaos-"); err != nil { // a socket's path must be short
		return fmt.Errorf("make a folder for sockets: %w", err)
	}
	s.temporal, err = host.Dial(ctx, s.at)
	return err
}

// close is also for a stage that could not be opened.
func (s *stage) close() {
	if s.temporal != nil {
		s.temporal.Close()
	}
	_ = os.RemoveAll(s.sockets) // nobody listens there any more
}

func (s *stage) queue(lane string) string { return s.prefix + "-" + lane }

func (s *stage) client(queue string) *client.Client {
	return local.Client(s.temporal, s.at.Address, client.Config{Namespace: s.at.Namespace, TaskQueue: queue})
}

// plan is what all workers of a lane are told; each kind of proof adds its own.
func (s *stage) plan(lane string) plan {
	return plan{Address: s.at.Address, Namespace: s.at.Namespace, TaskQueue: s.queue(lane)}
}

// laneName is that of the lane with this index.
func laneName(i int) string { return fmt.Sprintf("lane%d", i+1) }

// deal hands each job to the lane that is free next. It ends when all are done, or with the first error.
func deal[J any](ctx context.Context, lanes int, jobs iter.Seq[J], work func(ctx context.Context, lane string, jobs <-chan J) error) error {
	group, ctx := errgroup.WithContext(ctx)
	dealt := make(chan J)
	group.Go(func() error {
		defer close(dealt)
		for job := range jobs {
			select {
			case dealt <- job:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for i := range lanes {
		group.Go(func() error { return work(ctx, laneName(i), dealt) })
	}
	return group.Wait()
}

// withCause is an error, and why the lane could do no more, where that is known.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return errors.Join(err, cause)
	}
	return err
}
