package client

import (
	"fmt"
	"slices"
)

// A Class says what kind of trouble an error is. Programs branch on it; the
// command line's exit codes follow from it.
type Class string

const (
	// Invalid means that the request is wrong in itself. Nothing was sent, or
	// the other side refused to read it.
	Invalid Class = "invalid"
	// NotFound means that there is no such agent or execution.
	NotFound Class = "not_found"
	// Unreachable means that the server, or a worker where one is needed, did
	// not answer.
	Unreachable Class = "unreachable"
	// Refused means that the state the agent is in forbids it: running, ended,
	// idle, not finished.
	Refused Class = "refused"
	// Cancelled means that the caller's context ended. What was started goes on.
	Cancelled Class = "cancelled"
	// Gone means that what was asked for existed and has been deleted, or left
	// the runs that can still be asked.
	Gone Class = "gone"
	// Failed is any other trouble.
	Failed Class = "failed"
)

// Classes lists every class.
func Classes() []Class {
	return []Class{Invalid, NotFound, Unreachable, Refused, Cancelled, Gone, Failed}
}

// UnmarshalText accepts the known classes only.
func (c *Class) UnmarshalText(text []byte) error {
	if !slices.Contains(Classes(), Class(text)) {
		return fmt.Errorf("class: %q is not known", string(text))
	}
	*c = Class(text)
	return nil
}

// An Error is what every function of this package returns on failure. Its text
// is one line that is safe for users and says what to do.
type Error struct {
	Class Class
	// Message is the whole text.
	Message string
	// Err is what caused it, where something did. It is for operators.
	Err error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an Error of the same class without a message,
// so that errors.Is(err, &client.Error{Class: client.Refused}) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Class == e.Class && t.Message == "" && t.Err == nil
}
