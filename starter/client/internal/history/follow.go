package history

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"

	"everstep/domain/progress"
	"everstep/starter/process"
)

// An Item is a fact as it comes, or news of the connection.
type Item struct {
	progress.Recorded
	// Repeated means that the fact stands in an earlier run too, from which this
	// one was reset.
	Repeated bool
	// Last means that it is the last of those that came at once.
	Last bool
	// Away is why the connection went; Back says that it returned. There is no
	// fact then.
	Away error
	Back bool
}

// longPoll is how long one wait for new events may take; the server ends it
// sooner by itself.
const longPoll = 90 * time.Second

// Following is Follow that can be left and taken up again.
func (r Reader) Following(run string, reset bool) *Following {
	return &Following{feed: feed{Reader: r, run: run}, decoder: newDecoder(r.Converter, run, false), reset: reset}
}

// A Following gives out a run's facts as they come. It holds what is needed for that,
// because the stack of one that waits is memory. It is used by one goroutine at a time.
type Following struct {
	feed

	decoder *decoder
	// rest are facts that have come and were not given out yet.
	rest []progress.Recorded
	// reset means that what comes stands in an earlier run too.
	reset bool
	// away says that the server does not answer, and delay how long to wait before it is asked again.
	away  bool
	delay time.Duration
}

// firstDelay is until a server that went away is asked again, the first time.
const firstDelay = 50 * time.Millisecond

// Items are those that were not given out yet. Ranged over again, it goes on.
func (f *Following) Items(ctx context.Context) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) { f.follow(ctx, yield) }
}

func (f *Following) follow(ctx context.Context, yield func(Item, error) bool) {
	for more := f.hand(yield); more && !f.closed; {
		if events, err := f.next(ctx); err != nil {
			more = f.failed(ctx, err, yield)
		} else {
			more = f.give(events, yield)
		}
	}
}

// failed waits before the server is asked again, or ends it with the error.
func (f *Following) failed(ctx context.Context, err error, yield func(Item, error) bool) bool {
	if ctx.Err() != nil || !transient(err) {
		yield(Item{}, err)
		return false
	}
	if !f.away {
		f.away, f.delay = true, firstDelay
		if !yield(Item{Away: err}, nil) {
			return false
		}
	}
	if process.Pause(ctx, f.delay) != nil {
		yield(Item{}, ctx.Err())
		return false
	}
	f.delay = min(2*f.delay, 2*time.Second)
	return true
}

// give gives out the facts of some events.
func (f *Following) give(events []*historypb.HistoryEvent, yield func(Item, error) bool) bool {
	was := f.away
	f.away, f.rest = false, slices.Collect(f.decoder.decode(events))
	return (!was || yield(Item{Back: true}, nil)) && f.hand(yield)
}

// hand gives out what has come.
func (f *Following) hand(yield func(Item, error) bool) bool {
	for len(f.rest) > 0 {
		recorded := f.rest[0]
		f.rest = f.rest[1:]
		it := Item{Recorded: recorded, Repeated: f.reset, Last: len(f.rest) == 0}
		if _, here := recorded.Fact.(progress.ResetHere); here {
			f.reset = false
		}
		if !yield(it, nil) {
			return false
		}
	}
	f.rest = nil
	return true
}

// A feed reads one run's history from its beginning and then waits for more. It
// is used by one goroutine.
type feed struct {
	Reader
	run   string
	token []byte
	// seen is the id of the newest event given out; what comes again after a
	// new connection is left out. Workflow tasks do not count: those of an
	// attempt that failed are shown without being recorded.
	seen   int64
	closed bool
}

// next waits for the events that follow; none may come. After an error it may be called again.
func (f *feed) next(ctx context.Context) ([]*historypb.HistoryEvent, error) {
	call, cancel := context.WithTimeout(ctx, longPoll)
	defer cancel()
	response, err := f.Service.GetWorkflowExecutionHistory(call, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: f.Namespace, Execution: f.execution(f.run), WaitNewEvent: true, NextPageToken: f.token, SkipArchival: true,
		HistoryEventFilterType: f.filter(),
	})
	if err != nil {
		if ctx.Err() == nil {
			f.token = nil // it may not outlive the server that gave it
		}
		return nil, err
	}
	f.token = response.GetNextPageToken()
	return f.fresh(response.GetHistory().GetEvents()), nil
}

// fresh leaves out the events that were given out before.
func (f *feed) fresh(events []*historypb.HistoryEvent) []*historypb.HistoryEvent {
	for len(events) > 0 && events[0].GetEventId() <= f.seen {
		events = events[1:]
	}
	for _, event := range events {
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
		default:
			f.seen = event.GetEventId()
		}
		_, closes := ends[event.GetEventType()]
		f.closed = f.closed || closes
	}
	return events
}

// transient reports whether a wait for events may simply be tried again. A
// server that is shutting down answers in many ways.
func transient(err error) bool {
	switch serviceerror.ToStatus(err).Code() {
	case codes.Canceled, codes.Unknown, codes.Internal:
		return true
	default:
		return Away(err)
	}
}

// Away reports whether the server could not be reached or is too busy, so that the call may succeed later.
func Away(err error) bool {
	_, update := errors.AsType[*sdk.WorkflowUpdateServiceTimeoutOrCanceledError](err)
	if update || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	switch serviceerror.ToStatus(err).Code() {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted:
		return true
	}
	return false
}

// RetryWhileAway makes a call until it succeeds, fails for another reason than that the server is away, or ctx ends, and
// returns what the last one did. It may make the call more than once: it is for reads, and for what does no harm when done
// twice.
func RetryWhileAway[T any](ctx context.Context, call func() (T, error)) (T, error) {
	for delay := 50 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		value, err := call()
		if err == nil || !Away(err) || process.Pause(ctx, delay) != nil {
			return value, err
		}
	}
}
