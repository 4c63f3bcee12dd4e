package tool

import "errors"

// NotStarted marks an error of a tool that surely did nothing, so that the call
// may be made again even where the tool is at-most-once: no connection, no
// credentials, no lock. It returns nil for nil.
func NotStarted(err error) error { return mark(err, errNotStarted) }

// IsNotStarted reports whether an error, or one that it wraps, was marked by
// NotStarted.
func IsNotStarted(err error) bool { return errors.Is(err, errNotStarted) }

// OutcomeUnknown marks an error of a tool that may have done what it was asked, with
// nobody to say so: a connection that broke before the answer. A tool that is not
// repeatable is then not called again, and the model is told. It returns nil for nil.
func OutcomeUnknown(err error) error { return mark(err, errOutcomeUnknown) }

// IsOutcomeUnknown reports whether an error, or one that it wraps, was marked by
// OutcomeUnknown.
func IsOutcomeUnknown(err error) bool { return errors.Is(err, errOutcomeUnknown) }

// SessionLost marks the error of a call that was not made because the session with its server, in which it was to be
// made, is gone; the error says why. It is for what serves the tools of servers. It returns nil for nil.
func SessionLost(err error) error { return mark(err, errSessionLost) }

// IsSessionLost reports whether an error, or one that it wraps, was marked by SessionLost.
func IsSessionLost(err error) bool { return errors.Is(err, errSessionLost) }

var (
	errNotStarted     = errors.New("the tool was not started")
	errOutcomeUnknown = errors.New("the outcome is unknown")
	errSessionLost    = errors.New("the session is gone")
)

// A marked error says what the error says that it marks, and is both it and the mark.
type marked struct {
	error
	mark error
}

// Unwrap has the mark found before those that the error bears already.
func (m marked) Unwrap() []error { return []error{m.mark, m.error} }

func mark(err, mark error) error {
	if err == nil {
		return nil
	}
	return marked{err, mark}
}
