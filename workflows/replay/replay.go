// Package replay answers an agent's queries where no worker does: it replays the history of a run with the workflow's own
// code, up to the last workflow task that a worker has completed, and calls the query handlers that the workflow has
// registered. What came after that task is known only as events. Start at [Ask].
package replay

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/domain/contract"
	"everstep/workflows"
)

// Options say how a history is read. They are those of the worker that has written it.
type Options struct {
	// DataConverter reads the payloads. Nil: Temporal's default.
	DataConverter converter.DataConverter
}

// Queries are the query handlers of a replayed workflow. They can be called only inside the function that [Ask] calls.
type Queries struct{ handlers map[string]any }

// Query calls the handler of a query.
func Query[In, Out any](q *Queries, query contract.Query[In, Out], in In) (out Out, err error) {
	handle, ok := q.handlers[string(query)].(func(In) (Out, error))
	if !ok {
		return out, fmt.Errorf("query %s: the workflow has no handler for it", query)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("query %s: its handler panicked: %v", query, p)
		}
	}()
	return handle(in)
}

// Ask replays the history of a run and calls ask once, with the workflow as the last completed workflow task has left it;
// where the workflow has ended, as it was at its end, and where no task was completed, as its first one would begin. The events
// must be all of the run's. Of the status, the size of the
// history alone may differ from what a worker would answer.
//
// It returns the events that no worker has taken yet: signals, results, timers. An open run waits for a worker because of
// them. It has them also beside an error, as far as the history could be read.
//
// The errors are those of ask, of the context, and an *[Error]. Whether the workflow fits the history is known only at the
// end of a replay: what ask has read counts only if Ask returns no error. Listeners hear nothing.
func Ask(ctx context.Context, events []*historypb.HistoryEvent, execution workflow.Execution, options Options, ask func(*Queries) error) ([]*historypb.HistoryEvent, error) {
	past, err := split(events)
	waiting := past.waiting
	if err != nil {
		return waiting, err
	}
	r := &reader{ctx: ctx, past: past, ask: ask, queries: &Queries{handlers: map[string]any{}}, decoding: &decoding{}}
	failed := r.replay(execution, options)
	r.awaitEnd(failed != nil)
	switch {
	case ctx.Err() != nil:
		return waiting, context.Cause(ctx)
	case failed != nil && r.decoding.err != nil:
		return waiting, &Error{Kind: ErrUnreadable, Detail: oneLine(r.decoding.err.Error())}
	case failed != nil && !r.began:
		return waiting, &Error{Kind: ErrUnreadable, Detail: oneLine(failed.Error())}
	case past.task == 0 && !r.asked:
		return waiting, &Error{Kind: ErrNotBegun}
	case past.task == 0: // what the workflow would do first is recorded nowhere, so there is nothing to fit
		return waiting, r.err
	case failed != nil:
		return waiting, difference(failed.Error(), past.task)
	case past.idle == 0 && !r.returned:
		return waiting, &Error{Kind: ErrDiffers, EventID: past.task, Detail: "the workflow has ended, and would not end now"}
	case past.idle > 0 && r.returned: // the SDK compares no end that is not recorded
		return waiting, &Error{Kind: ErrDiffers, EventID: past.task, Detail: "the workflow has not ended, and would end now"}
	}
	return waiting, r.err
}

// A reader is the interceptor of one replay. Once the replay has begun, all but ctx is touched by the coroutines of the
// workflow alone, of which one runs at a time, until they have ended.
type reader struct {
	interceptor.WorkerInterceptorBase
	ctx      context.Context
	past     past
	ask      func(*Queries) error
	queries  *Queries
	decoding *decoding
	// began and returned say that the workflow's function was called, and that it has come to its end.
	began, returned bool
	asked           bool
	err             error
	// running are the coroutines that have begun. The SDK ends them in the background when a replay is over.
	running sync.WaitGroup
}

// replay runs the workflow's code over the history of a run, up to its last completed task, and asks what the reader was given
// to ask: so queries are answered where no worker does.
func (r *reader) replay(execution workflow.Execution, options Options) (err error) {
	converts := options.DataConverter
	if converts == nil {
		converts = converter.GetDefaultDataConverter()
	}
	r.decoding.DataConverter = converts
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: r.decoding,
		// The SDK's own reads no messages that were encoded.
		FailureConverter:         temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: r.decoding, EncodeCommonAttributes: true}),
		Interceptors:             []interceptor.WorkerInterceptor{r},
		DisableDeadlockDetection: true, // whoever asks may take long
	})
	if err != nil {
		return err
	}
	workflows.Register(replayer, workflows.Options{})
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the replay panicked: %v", p)
		}
	}()
	silent := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	return replayer.ReplayWorkflowHistoryWithOptions(silent, &historypb.History{Events: r.past.replayed}, worker.ReplayWorkflowHistoryOptions{OriginalExecution: execution})
}

// leftWithin is how long the coroutines of a replay that has failed are waited for.
const leftWithin = time.Second

// awaitEnd waits until the coroutines have ended. Of a replay that has failed the SDK now and then ends none: they wait for good
// then, and nothing wakes them.
func (r *reader) awaitEnd(failed bool) {
	ended := make(chan struct{})
	go func() {
		r.running.Wait()
		close(ended)
	}()
	over := context.Background()
	if failed {
		var cancel context.CancelFunc
		over, cancel = context.WithTimeout(over, leftWithin)
		defer cancel()
	}
	select {
	case <-ended:
	case <-over.Done():
	}
}

// askOnce calls ask, inside a coroutine of the workflow.
func (r *reader) askOnce() {
	if r.asked {
		return
	}
	r.asked = true
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("asking the replayed workflow panicked: %v", p)
		}
	}()
	r.err = r.ask(r.queries)
}

func (r *reader) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &inbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, r}
}

type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
	reader *reader
}

func (in *inbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return in.Next.Init(&outbound{interceptor.WorkflowOutboundInterceptorBase{Next: next}, in.reader})
}

// ExecuteWorkflow adds a coroutine that asks in the idle task. It waits for a condition that never holds, which the SDK
// evaluates in each task: that makes no command, so the replay stays what it is.
func (in *inbound) ExecuteWorkflow(ctx workflow.Context, input *interceptor.ExecuteWorkflowInput) (any, error) {
	r := in.reader
	r.began = true
	beside, _ := workflow.NewDisconnectedContext(ctx) // who cancels the workflow does not end it
	workflow.Go(beside, func(ctx workflow.Context) {
		_ = workflow.Await(ctx, func() bool {
			if err := r.ctx.Err(); err != nil {
				panic(err) // ends the replay
			}
			if r.past.idle > 0 && !r.returned && workflow.GetInfo(ctx).GetCurrentHistoryLength() == r.past.idle {
				r.askOnce()
			}
			return false
		})
	})
	result, err := in.Next.ExecuteWorkflow(ctx, input)
	r.returned = true
	if r.past.idle == 0 {
		r.askOnce()
	}
	return result, err
}

// ExecuteUpdate runs in a coroutine of its own, which [outbound.Go] does not see.
func (in *inbound) ExecuteUpdate(ctx workflow.Context, input *interceptor.UpdateInput) (any, error) {
	in.reader.running.Add(1)
	defer in.reader.running.Done()
	return in.Next.ExecuteUpdate(ctx, input)
}

type outbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	reader *reader
}

func (out *outbound) SetQueryHandler(ctx workflow.Context, query string, handler any) error {
	out.reader.queries.handlers[query] = handler
	return out.Next.SetQueryHandler(ctx, query, handler)
}

func (out *outbound) Go(ctx workflow.Context, name string, run func(workflow.Context)) workflow.Context {
	return out.Next.Go(ctx, name, func(ctx workflow.Context) {
		out.reader.running.Add(1)
		defer out.reader.running.Done()
		run(ctx)
	})
}
