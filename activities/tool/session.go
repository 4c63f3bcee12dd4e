package tool

import "errors"

// SessionLost marks the error of a call that was not made because the session with its server, in which it was to be
// made, is gone; the error says why. It is for what serves the tools of servers. It returns nil for nil.
func SessionLost(err error) error {
	if err == nil {
		return nil
	}
	return sessionLost{err}
}

// IsSessionLost reports whether an error, or one that it wraps, was marked by SessionLost.
func IsSessionLost(err error) bool {
	_, ok := errors.AsType[sessionLost](err)
	return ok
}

type sessionLost struct{ cause error }

func (e sessionLost) Error() string { return e.cause.Error() }
func (e sessionLost) Unwrap() error { return e.cause }
