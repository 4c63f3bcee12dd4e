package tool

import "errors"

// NotStarted marks an error of a tool that surely did nothing, so that the call
// may be made again even where the tool is at-most-once. Use it for what fails
// before the first byte leaves: no connection, no credentials, no lock. It
// returns nil for nil.
func NotStarted(err error) error {
	if err == nil {
		return nil
	}
	return notStarted{err}
}

// IsNotStarted reports whether an error, or one that it wraps, was marked by
// NotStarted.
func IsNotStarted(err error) bool {
	_, ok := errors.AsType[notStarted](err)
	return ok
}

type notStarted struct{ cause error }

func (e notStarted) Error() string { return e.cause.Error() }
func (e notStarted) Unwrap() error { return e.cause }
