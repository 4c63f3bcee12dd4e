package history

import (
	"context"
	"errors"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"

	"everstep/starter/process"
)

// Closed waits until a run has ended, and says how. Where the server goes away, away is told why once, and nil when it is back.
func (r Reader) Closed(ctx context.Context, run string, away func(error)) (none RunEnded, _ error) {
	request := r.request(run)
	request.HistoryEventFilterType, request.WaitNewEvent = enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT, true
	const first, most = 50 * time.Millisecond, 2 * time.Second
	for delay, gone := first, false; ; {
		call, cancel := context.WithTimeout(ctx, 90*time.Second) // the server ends the wait sooner by itself
		response, err := r.Service.GetWorkflowExecutionHistory(call, request)
		cancel()
		switch {
		case err != nil && (ctx.Err() != nil || !transient(err)):
			return none, err
		case err != nil:
			if request.NextPageToken = nil; !gone { // it may not outlive the server that gave it
				away(err)
			}
			if gone = true; process.Pause(ctx, delay) != nil {
				return none, ctx.Err()
			}
			delay = min(2*delay, most)
			continue
		case gone:
			away(nil)
		}
		for _, event := range response.GetHistory().GetEvents() {
			if end, ok := ended(r.Converter, event); ok {
				return end, nil
			}
		}
		delay, gone, request.NextPageToken = first, false, response.GetNextPageToken()
	}
}

// transient reports whether a wait for events may simply be tried again. A server that is shutting down answers in many ways.
func transient(err error) bool {
	return Away(err) || slices.Contains([]codes.Code{codes.Canceled, codes.Unknown, codes.Internal}, serviceerror.ToStatus(err).Code())
}

// Away reports whether the server could not be reached or is too busy, so that the call may succeed later.
func Away(err error) bool {
	_, update := errors.AsType[*sdk.WorkflowUpdateServiceTimeoutOrCanceledError](err)
	if update || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	return slices.Contains([]codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted}, serviceerror.ToStatus(err).Code())
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
