package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"everstep/domain/contract"
)

// sdkLines are the lines of the SDK that a kill, an outage or a shutdown brings,
// and what each means. What they say is in the SDK's own words at level debug.
var sdkLines = map[string]sdkLine{
	"Failed to poll for task.":                            {"no work comes from the server; it is asked until it answers", cancelled, true},
	"RecordActivityHeartbeat with error":                  {"the server takes no heartbeats; what they are of is cut off, and counts as lost", cancelled, true},
	"Task processing failed with error":                   {reportsLost, cancelled, true},
	"Task processing failed with client side error":       {reportsLost, cancelled, true},
	"Worker received non-retriable error. Shutting down.": {"the server refuses this worker, which takes no more work", never, true},
	"Activity complete after timeout.":                    {"an activity ended after its time-out; its result counts no more", never, false},
	"Activity error.":                                     {"an activity failed; its workflow decides what follows", told, false},
	"Started Worker":                                      {}, // the worker says so itself
	"Stopped Worker":                                      {},
	"ShutdownWorker rpc errored during worker shutdown.":  {}, // the server notices without
	"Failed to send heartbeat":                            {}, // these beats are for lists of workers
	"Stopping heartbeat worker":                           {},
	"Failed polling worker command task":                  {},
	"unable to close connection":                          {},
}

// An sdkLine says what a line of the SDK means; the zero value is one that means nothing
// to a reader of the log.
type sdkLine struct {
	says  string
	mute  func(fields []any) bool
	often bool // it comes again and again while something lasts, and is said once in a while
}

const reportsLost = "the server takes no reports; what is not reported counts as lost"

// cancelled reports whether a line tells of what happens whenever work is cancelled, is
// done elsewhere meanwhile, or ends with its worker.
func cancelled(fields []any) bool {
	err, _ := field(fields, "Error").(error)
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	_, ended := errors.AsType[*serviceerror.Canceled](err)
	return gone || ended || errors.Is(err, context.Canceled) || temporal.IsCanceledError(err) ||
		errors.Is(err, activity.ErrActivityPaused) || errors.Is(err, activity.ErrActivityReset)
}

// told reports whether an activity says itself how it failed.
func told(fields []any) bool {
	return field(fields, "ActivityType") == string(contract.CallModel) || cancelled(fields)
}

func never([]any) bool { return false }

// sdkPause is how long what comes often is not said again.
const sdkPause = time.Minute

// An sdkLogger has the SDK's lines in our words, and everything else as it comes.
type sdkLogger struct {
	log.Logger
	said *lately
}

func newSDKLogger(logger log.Logger) sdkLogger {
	return sdkLogger{log.Skip(logger, 1), &lately{at: map[string]time.Time{}}}
}

// With returns a logger that adds the fields to each line.
func (l sdkLogger) With(fields ...any) log.Logger {
	return sdkLogger{log.With(l.Logger, fields...), l.said}
}

// WithCallerSkip returns a logger for one who stands between it and the caller.
func (l sdkLogger) WithCallerSkip(depth int) log.Logger {
	return sdkLogger{log.Skip(l.Logger, depth), l.said}
}

func (l sdkLogger) Info(text string, fields ...any)  { l.word(l.Logger.Info, text, fields) }
func (l sdkLogger) Warn(text string, fields ...any)  { l.word(l.Logger.Warn, text, fields) }
func (l sdkLogger) Error(text string, fields ...any) { l.word(l.Logger.Error, text, fields) }

func (l sdkLogger) word(as func(string, ...any), text string, fields []any) {
	line, known := sdkLines[text]
	if !known {
		as(text, fields...)
		return
	}
	l.Debug(text, fields...)
	if line.says == "" || line.mute(fields) || line.often && !l.said.due(line.says, time.Now()) {
		return
	}
	l.Logger.Warn(line.says, withoutResult(fields)...)
}

func field(fields []any, name string) any {
	for pair := range slices.Chunk(fields, 2) {
		if len(pair) == 2 && pair[0] == name {
			return pair[1]
		}
	}
	return nil
}

// withoutResult leaves out what an activity made, which is long and may be anything.
func withoutResult(fields []any) (kept []any) {
	for pair := range slices.Chunk(fields, 2) {
		if pair[0] != "Result" {
			kept = append(kept, pair...)
		}
	}
	return kept
}

// lately knows what has been said of late. It is used by many at once.
type lately struct {
	mu sync.Mutex
	at map[string]time.Time
}

// due reports whether a text is to be said, which then has been.
func (l *lately) due(text string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.at[text]; ok && now.Sub(last) < sdkPause {
		return false
	}
	l.at[text] = now
	return true
}
