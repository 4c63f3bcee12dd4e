package domain

import (
	"cmp"
	"errors"
	"everstep/domain/enum"
	"fmt"
	"slices"
	"time"
)

// A Kind says what to do about an error. It is the only table of what may be tried again.
type Kind string

const (
	// Invalid means that the same request will fail again: mend it.
	Invalid Kind = "invalid"
	// Denied means that the caller may not do this, or not in this state.
	Denied Kind = "denied"
	// Throttled means that it will work later: wait as told, then try again.
	Throttled Kind = "throttled"
	// Unavailable means that the other side failed or could not be reached: try again.
	Unavailable Kind = "unavailable"
	// TooLarge means that something exceeds a size: make it smaller.
	TooLarge Kind = "too_large"
	// Internal means that Everstep itself is wrong.
	Internal Kind = "internal"
)

// Retryable reports whether the same request may succeed later.
func (k Kind) Retryable() bool { return k == Throttled || k == Unavailable }

// UnmarshalText accepts the known kinds only.
func (k *Kind) UnmarshalText(text []byte) error {
	return enum.Decode(k, text, "error kind", Invalid, Denied, Throttled, Unavailable, TooLarge, Internal)
}

// A Code says what happened. The zero value says nothing more than the kind.
type Code string

const (
	// CodeBlocked: a hook or guard forbade a tool call.
	CodeBlocked Code = "blocked"
	// CodeNotRun: a tool call was requested and never begun.
	CodeNotRun Code = "not_run"
	// CodeInterrupted: a stop cut off work in flight.
	CodeInterrupted Code = "interrupted"
	// CodeOutcomeUnknown: a tool call began, and nobody knows how it ended.
	CodeOutcomeUnknown Code = "outcome_unknown"
	// CodeOutcomeUnresolved: a tool call was not begun, since nobody knows whether an earlier one took the same effect.
	CodeOutcomeUnresolved Code = "outcome_unresolved"
	// CodeTimeout: something took longer than it may.
	CodeTimeout Code = "timeout"
	// CodeEmptyResponse: the model gave neither text nor tool calls, twice.
	CodeEmptyResponse Code = "empty_response"
	// CodeFiltered: the provider's filter withheld the answer.
	CodeFiltered Code = "filtered"
	// CodeInvalidOutput: the answer does not fit its schema.
	CodeInvalidOutput Code = "invalid_output"
	// CodeQuota: the provider's account has no money or quota left.
	CodeQuota Code = "quota"
	// CodeAuth: the provider refused the key.
	CodeAuth Code = "auth"
	// CodeContextOverflow: the conversation exceeds the model's window.
	CodeContextOverflow Code = "context_overflow"
	// CodeContextLost: the conversation cannot be carried on or read back.
	CodeContextLost Code = "context_lost"
	// CodeHookFailed: a hook returned an error.
	CodeHookFailed Code = "hook_failed"
	// CodeMalformed: the provider's answer, or a call that the model wrote, cannot be read or is not whole.
	CodeMalformed Code = "malformed"
	// CodeModelNotFound: no such provider or model.
	CodeModelNotFound Code = "model_not_found"
	// CodeUnknownTool: no tool of that name.
	CodeUnknownTool Code = "unknown_tool"
	// CodeWorkerShutdown: the worker was told to stop.
	CodeWorkerShutdown Code = "worker_shutdown"
	// CodeTerminated: the server ended the workflow on an operator's order.
	CodeTerminated Code = "terminated"
	// CodeTimedOut: the server ended the workflow at its time-out.
	CodeTimedOut Code = "timed_out"
	// CodeGivenUp: the provider failed and says that another try would fail too.
	CodeGivenUp Code = "given_up"
	// CodeRerouted: the provider's rate limit holds on another task queue than that of the request.
	CodeRerouted Code = "rerouted"
	// CodeDenied: a rule or a person did not let a tool call run.
	CodeDenied Code = "denied"
)

// UnmarshalText accepts the known codes only.
func (c *Code) UnmarshalText(text []byte) error {
	return enum.Decode(c, text, "error code",
		CodeBlocked, CodeNotRun, CodeInterrupted, CodeOutcomeUnknown, CodeTimeout, CodeEmptyResponse,
		CodeFiltered, CodeInvalidOutput, CodeQuota, CodeAuth, CodeContextOverflow, CodeContextLost,
		CodeHookFailed, CodeMalformed, CodeModelNotFound, CodeUnknownTool, CodeWorkerShutdown,
		CodeTerminated, CodeTimedOut, CodeGivenUp, CodeRerouted, CodeDenied, CodeOutcomeUnresolved,
	)
}

// An Error is the one error type of Everstep: what to do, what happened, and a text that is safe for
// users. It never holds a stack, a key or a provider's raw body.
type Error struct {
	Kind    Kind   `json:"kind"`
	Code    Code   `json:"code,omitzero"`
	Message string `json:"message"`
	// Source says where it arose: a provider, a tool, a hook, the server.
	Source string `json:"source,omitzero"`
	// Lacking means that the worker lacks what it was asked for, which another may have.
	Lacking bool `json:"lacking,omitzero"`
	// Window is the most tokens that the model takes, where a provider that found the conversation too long has named it.
	Window int64 `json:"window,omitzero"`
	// RetryAfter is the delay that the other side asked for.
	RetryAfter time.Duration `json:"-"`
	// Billed means that the attempt may have cost money all the same.
	Billed bool `json:"-"`
	// Detail is for operators only: logged, never shown or recorded.
	Detail string `json:"-"`
}

// Errorf returns an error without a code.
func Errorf(kind Kind, format string, args ...any) *Error {
	return CodedErrorf(kind, "", format, args...)
}

// Invalidf returns an error of kind Invalid: what somebody gave makes no sense.
func Invalidf(format string, args ...any) *Error { return Errorf(Invalid, format, args...) }

// Deniedf returns an error of kind Denied: somebody may not do so, or not in this state.
func Deniedf(format string, args ...any) *Error { return Errorf(Denied, format, args...) }

// TooLargef returns an error of kind TooLarge: what somebody gave exceeds a size.
func TooLargef(format string, args ...any) *Error { return Errorf(TooLarge, format, args...) }

// CodedErrorf returns an error with a code.
func CodedErrorf(kind Kind, code Code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// invalid says that what a caller gave makes no sense; nil: it does.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return Invalidf("%s", err)
}

// Error returns the text that is safe for users.
func (e *Error) Error() string { return e.Message }

// From returns a copy that says where the error arose.
func (e Error) From(source string) *Error {
	e.Source = source
	return &e
}

// AsError finds the Error in err's chain; any other becomes Internal, its text for operators only.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Message: "internal error", Detail: err.Error()}
}

// ModelsFault reports whether the provider could not read what the model wrote: it is for the model to mend.
func (e *Error) ModelsFault() bool { return e.Kind == Invalid && e.Code == CodeMalformed }

// kept returns the error without what was for the next attempt or for operators; its kind is never empty.
func (e Error) kept() Error {
	return Error{Kind: cmp.Or(e.Kind, Internal), Code: e.Code, Message: e.Message, Source: e.Source}
}

// A Fallback is a model that takes over for good, from the next step on, where the one before it failed.
type Fallback struct {
	Model LLMConfig `json:"model"`
	// On are the failures that it takes over from. Absent: all but context_overflow and filtered, which
	// are of the conversation and not of the provider.
	On []Failure `json:"on,omitempty"`
}

// A Failure names the failures of a model that a fallback takes over from.
type Failure string

const (
	// FailureUnavailable: it failed as often as it was tried, or said that it would again.
	FailureUnavailable Failure = "unavailable"
	// FailureThrottled: there were too many requests, as often as it was tried.
	FailureThrottled Failure = "throttled"
	// FailureQuota: the account has no money or quota left.
	FailureQuota Failure = "quota"
	// FailureAuth: the provider refused the key.
	FailureAuth Failure = "auth"
	// FailureModelNotFound: there is no such model.
	FailureModelNotFound Failure = "model_not_found"
	// FailureContextOverflow: the conversation is too long for the model.
	FailureContextOverflow Failure = "context_overflow"
	// FailureFiltered: the provider's filter withheld the answer.
	FailureFiltered Failure = "filtered"
)

// UnmarshalText accepts the known failures only.
func (f *Failure) UnmarshalText(text []byte) error {
	return enum.Decode(f, text, "failure",
		FailureUnavailable, FailureThrottled, FailureQuota, FailureAuth,
		FailureModelNotFound, FailureContextOverflow, FailureFiltered,
	)
}

// FailureOf names an error as fallbacks do; ok is false where none takes over.
func FailureOf(err *Error) (failure Failure, ok bool) {
	if failure.UnmarshalText([]byte(err.Code)) == nil {
		return failure, true
	}
	if slices.Contains([]Code{CodeTimeout, CodeMalformed, CodeEmptyResponse, CodeWorkerShutdown, CodeGivenUp}, err.Code) {
		return FailureUnavailable, true
	}
	if err.Kind.Retryable() {
		return Failure(err.Kind), true
	}
	return "", false
}

// Takes reports whether the fallback takes over from a failure.
func (f Fallback) Takes(failure Failure) bool {
	if len(f.On) == 0 {
		return failure != FailureContextOverflow && failure != FailureFiltered
	}
	return slices.Contains(f.On, failure)
}
