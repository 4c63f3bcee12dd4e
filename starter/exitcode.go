package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"everstep/domain"
	"everstep/starter/client"
)

// The exit codes. Scripts rely on them: they must never change.
const (
	exitDone        = 0   // done; the execution completed
	exitOther       = 1   // any other error; the execution failed
	exitUsage       = 2   // the command line is wrong
	exitStopped     = 3   // the execution was stopped
	exitNotFound    = 4   // no such agent or execution
	exitUnreachable = 5   // the server, or a worker where one is needed, does not answer
	exitRefused     = 6   // the state the agent is in forbids it
	exitDetached    = 130 // the user left; what was started goes on
)

// An exitError ends the program with a code. An empty text prints nothing.
type exitError struct {
	code  int
	text  string
	cause error
}

func (e *exitError) Error() string { return e.text }
func (e *exitError) Unwrap() error { return e.cause }

// usage is the error of a command line that is wrong.
func usage(format string, args ...any) error {
	return &exitError{code: exitUsage, text: fmt.Sprintf(format, args...)}
}

// refused is the error of what the state of an agent forbids. next says how to go on, with commands in backquotes; it may be empty.
func refused(message, next string) error {
	return &client.Error{Class: client.Refused, Message: message, Next: next}
}

// What has no exit code of its own has exitOther.
var exitsByClass = map[client.Class]int{
	client.Invalid: exitUsage, client.NotFound: exitNotFound, client.Unreachable: exitUnreachable,
	client.Refused: exitRefused, client.Cancelled: exitDetached,
}

func exitCode(err error) int {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		return cmp.Or(exitsByClass[e.Class], exitOther)
	}
	if e, ok := errors.AsType[*domain.Error](err); ok {
		return cmp.Or(exitsByClass[client.ClassOf(e.Kind)], exitOther)
	}
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		return exitDetached
	}
	return exitOther
}
