package tool

import (
	"errors"
	"time"
)

// WaitUntil is the error of a tool that wants to be called again at a time, with the same
// arguments: Call.WaitedUntil then says so. Until then the call waits in the workflow: it
// holds no worker and outlives all of them. Any stop ends the wait, and a call ended so
// counts as one that was not run; so it is for calls that have done nothing yet. A time
// that is past, or less than a second away, is a second away; it may be MaxWait away at
// the most, and a call waits at most MaxWaits times.
func WaitUntil(at time.Time) error { return waiting{at} }

const (
	// MaxWait is how long a call may wait at a time.
	MaxWait = 366 * 24 * time.Hour
	// MaxWaits is how often one call may wait.
	MaxWaits = 500
)

// Waits reports whether an error, or one that it wraps, is of WaitUntil, and until when.
func Waits(err error) (until time.Time, ok bool) {
	own, ok := errors.AsType[waiting](err)
	return own.until, ok
}

type waiting struct{ until time.Time }

func (w waiting) Error() string { return "it waits until " + w.until.UTC().Format(time.RFC3339) }
