package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc/codes"

	"everstep/activities/command"
	"everstep/domain"
	"everstep/domain/enum"
	"everstep/starter/client/internal/history"
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
	// Cancelled means that the caller's context ended. What it has asked for may be done all the same.
	Cancelled Class = "cancelled"
	// Gone means that what was asked for existed and has been deleted, or left
	// the runs that can still be asked.
	Gone Class = "gone"
	// Failed is any other trouble.
	Failed Class = "failed"
)

// UnmarshalText accepts the known classes only.
func (c *Class) UnmarshalText(text []byte) error {
	return enum.Decode(c, text, "class", Invalid, NotFound, Unreachable, Refused, Cancelled, Gone, Failed)
}

// An Error is what every function of this package returns on failure. Its text
// is one line that is safe for users and says what to do.
type Error struct {
	Class Class
	// Message is the whole text.
	Message string
	// Next says how to go on from a command line, with its commands in backquotes; empty: as Message says.
	Next string
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

// Is reports whether an error is of a class.
func Is(err error, class Class) bool { return errors.Is(err, &Error{Class: class}) }

func errorf(class Class, cause error, format string, args ...any) *Error {
	return &Error{Class: class, Message: fmt.Sprintf(format, args...), Err: cause}
}

// next says how to go on from a command line.
func (e *Error) next(format string, args ...any) *Error {
	e.Next = fmt.Sprintf(format, args...)
	return e
}

func refused(format string, args ...any) *Error { return errorf(Refused, nil, format, args...) }

func notFound(format string, args ...any) *Error { return errorf(NotFound, nil, format, args...) }

func invalidf(format string, args ...any) *Error { return errorf(Invalid, nil, format, args...) }

func gone(format string, args ...any) *Error { return errorf(Gone, nil, format, args...) }

// goneIfDeleted makes Gone of the error that a run is there no more.
func goneIfDeleted(err error, format string, args ...any) error {
	if deleted(err) {
		return errorf(Gone, err, format, args...)
	}
	return err
}

func deleted(err error) bool { return isAs[*serviceerror.NotFound](err) }

// fail turns the error of a call about an agent into an Error, and no error into
// none. ctx is the caller's own context, without the call's deadline.
func fail(ctx context.Context, id, doing string, err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if ctx.Err() != nil {
		return errorf(Cancelled, ctx.Err(), "%s: gave up waiting for an answer", doing)
	}
	if refusal, ok := command.Refusal(err); ok {
		return ofDomain(refusal)
	}
	switch code := serviceerror.ToStatus(err).Code(); {
	case errors.Is(err, errClosed):
		return ended(id, err)
	case errors.Is(err, errNoWorker):
		return errorf(Unreachable, err, "%s: no worker answers; see that one is up on its task queue", id).next("`dev` has one")
	case isAs[*serviceerror.NamespaceNotFound](err):
		return errorf(Failed, err, "namespace: the server does not know it; create it, or name another one")
	case code == codes.NotFound:
		return errorf(NotFound, err, "id: there is no agent %q", id).next("`list` shows those that there are")
	case history.Away(err):
		return errorf(Unreachable, err, "%s: the server does not answer; see that it is up and that the address is right", doing).next("`dev` begins one")
	case code == codes.InvalidArgument:
		return errorf(Invalid, err, "%s: the server refused: %s", doing, err)
	}
	said := err.Error()
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		said = application.Message() // without what the SDK writes behind it for programs
	}
	return errorf(Failed, err, "%s: %s", doing, said)
}

// fail is fail of a call about the agent, which stands at the end of what was done.
func (a agent) fail(ctx context.Context, doing string, err error) error {
	return fail(ctx, a.called(), doing+" "+a.called(), err)
}

var errClosed = errors.New("the workflow has ended")

func ended(id string, cause error) *Error {
	name, _, _ := strings.Cut(id, SessionMark)
	if a, err := agentOf(id); err == nil && a.name == "" {
		return errorf(Refused, cause, "agent %s has ended, and as it has no name it takes no more messages; start another agent", id).next("`extend %s` goes on where it was stopped or failed", id)
	}
	return errorf(Refused, cause, "the session of %s has ended", id).next("`run --id %s` begins a new one", name)
}

var (
	errNoWorker = errors.New("no worker answers")
	// errBusy is that of a question to which there may be a worker yet.
	errBusy = fmt.Errorf("%w in time", errNoWorker)
)

// ClassOf is the class of what went wrong in such a way anywhere else.
func ClassOf(kind domain.Kind) Class {
	classes := map[domain.Kind]Class{
		domain.Invalid: Invalid, domain.TooLarge: Invalid, domain.Denied: Refused,
		domain.Unavailable: Unreachable, domain.Throttled: Unreachable,
	}
	return cmp.Or(classes[kind], Failed)
}

func ofDomain(err *domain.Error) *Error { return errorf(ClassOf(err.Kind), err, "%s", err.Message) }

// invalid is what a check says, of this package or of the domain.
func invalid(err error) *Error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	return ofDomain(domain.AsError(err))
}

func isAs[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
