package host

import (
	"context"
	"errors"
	"slices"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"everstep/domain/contract"
)

// quietLines are lines of the SDK that say nothing to a reader of the log: the worker logs its start and its end itself,
// and the server notices the rest without them.
var quietLines = []string{
	"Started Worker", "Stopped Worker", "ShutdownWorker rpc errored during worker shutdown.", "Failed to send heartbeat",
	"Stopping heartbeat worker", "Failed polling worker command task", "unable to close connection",
}

// An sdkLogger logs the SDK's quiet lines, and those about cancelled work, at level debug. No line has the result of an
// activity, which is long and may be anything.
type sdkLogger struct{ log.Logger }

func newSDKLogger(logger log.Logger) sdkLogger { return sdkLogger{log.Skip(logger, 1)} }

// With returns a logger that adds the fields to each line.
func (l sdkLogger) With(fields ...any) log.Logger { return sdkLogger{log.With(l.Logger, fields...)} }

// WithCallerSkip returns a logger for one who stands between it and the caller.
func (l sdkLogger) WithCallerSkip(depth int) log.Logger { return sdkLogger{log.Skip(l.Logger, depth)} }

func (l sdkLogger) Info(text string, fields ...any)  { l.line(l.Logger.Info, text, fields) }
func (l sdkLogger) Warn(text string, fields ...any)  { l.line(l.Logger.Warn, text, fields) }
func (l sdkLogger) Error(text string, fields ...any) { l.line(l.Logger.Error, text, fields) }

func (l sdkLogger) line(as func(string, ...any), text string, fields []any) {
	var kept []any
	quiet := slices.Contains(quietLines, text)
	for pair := range slices.Chunk(fields, 2) {
		switch value := pair[len(pair)-1].(type) {
		case error:
			quiet = quiet || pair[0] == "Error" && ofCancelledWork(value)
		case string: // an inference says itself how it failed
			quiet = quiet || text == "Activity error." && pair[0] == "ActivityType" && value == string(contract.CallModel)
		}
		if pair[0] != "Result" {
			kept = append(kept, pair...)
		}
	}
	if quiet {
		as = l.Debug
	}
	as(text, kept...)
}

// ofCancelledWork reports whether an error comes whenever work is cancelled, is done elsewhere meanwhile, or ends with its
// worker.
func ofCancelledWork(err error) bool {
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	_, ended := errors.AsType[*serviceerror.Canceled](err)
	return gone || ended || errors.Is(err, context.Canceled) || temporal.IsCanceledError(err) ||
		errors.Is(err, activity.ErrActivityPaused) || errors.Is(err, activity.ErrActivityReset)
}
