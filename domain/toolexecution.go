package domain

import (
	"cmp"
	"everstep/domain/enum"
	"slices"
	"time"
)

// A ToolExecution is one tool call of a step and what came of it. Every call has exactly one, run or not.
type ToolExecution struct {
	ID   ToolExecutionID `json:"tool_execution_id"`
	Call ToolCall        `json:"call"`
	// Effect is the tool's, once the call has begun.
	Effect Effect `json:"effect,omitzero"`
	// Value is the tool's result. It is empty where there is an error.
	Value string `json:"value,omitzero"`
	// ResultDigest names the result where Value is not what tells it from others: it was cut, has images beside it, or
	// says what differs each time, such as how long the call took. Zero: Value does.
	ResultDigest Digest `json:"result_digest,omitzero"`
	// Error says that the call failed, was blocked, was not run, or that its outcome is unknown.
	Error     *Error    `json:"error,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	// CompletedAt is zero while the call is in flight.
	CompletedAt time.Time `json:"completed_at,omitzero"`
	// Attempts counts the tries, where there was more than one.
	Attempts int `json:"attempts,omitzero"`
	// NotStarted means that the call was begun and surely did nothing, whatever
	// hooks have made of its result.
	NotStarted bool `json:"not_started,omitzero"`
	// Waits are what people were asked about the call, and what they said, at most one of a kind. That of an outcome is here
	// where the tool's Verify has found out what the call did, which nobody else knew.
	Waits []Wait `json:"waits,omitempty"`
}

// A ToolOutcome says how a tool call ended. It is derived, never stored.
type ToolOutcome string

const (
	// ToolOK: it gave a result.
	ToolOK ToolOutcome = "ok"
	// ToolFailed: it gave an error.
	ToolFailed ToolOutcome = "failed"
	// ToolBlocked: a hook, a rule or a person forbade it.
	ToolBlocked ToolOutcome = "blocked"
	// ToolNotRun: it was never begun, such as one of an unknown tool, or surely did nothing.
	ToolNotRun ToolOutcome = "not_run"
	// ToolUnknown: it began, and nobody knows how it ended.
	ToolUnknown ToolOutcome = "outcome_unknown"
	// ToolRunning: it has not ended.
	ToolRunning ToolOutcome = "running"
)

// UnmarshalText accepts the known outcomes only.
func (o *ToolOutcome) UnmarshalText(text []byte) error {
	return enum.Decode(o, text, "tool outcome", ToolOK, ToolFailed, ToolBlocked, ToolNotRun, ToolUnknown, ToolRunning)
}

// Ran reports whether the call was run, or may have been, and so counts against max_tool_calls.
func (o ToolOutcome) Ran() bool { return o != ToolBlocked && o != ToolNotRun }

// Outcome says how the call ended; the first that fits. What has neither begun
// nor ended was not run, so far.
func (t ToolExecution) Outcome() ToolOutcome {
	switch {
	case (t.hasCode(CodeBlocked) || t.hasCode(CodeDenied)) && t.StartedAt.IsZero(): // a tool may say so of itself, too
		return ToolBlocked
	case t.hasCode(CodeOutcomeUnknown):
		return ToolUnknown
	case t.NotStarted, t.hasCode(CodeNotRun), t.StartedAt.IsZero() && (t.Error != nil || t.CompletedAt.IsZero()):
		return ToolNotRun
	case t.Error != nil:
		return ToolFailed
	case t.CompletedAt.IsZero():
		return ToolRunning
	}
	return ToolOK
}

// Name is the tool's name.
func (t ToolExecution) Name() string { return t.Call.Name }

// Args is the exact text of the arguments, as the model sent it.
func (t ToolExecution) Args() string { return t.Call.Arguments }

// Err returns the error, where there is one.
func (t ToolExecution) Err() (Error, bool) {
	return *cmp.Or(t.Error, &Error{}), t.Error != nil
}

// HasError reports whether the call failed, was blocked or not run, or nobody knows.
func (t ToolExecution) HasError() bool { return t.Error != nil }

// WasBlocked reports whether a hook, a rule or a person forbade the call.
func (t ToolExecution) WasBlocked() bool { return t.Outcome() == ToolBlocked }

// Duration is how long the call took; zero while it is in flight.
func (t ToolExecution) Duration() time.Duration {
	if t.StartedAt.IsZero() || t.CompletedAt.IsZero() {
		return 0
	}
	return t.CompletedAt.Sub(t.StartedAt)
}

// SameOutcome reports whether two executions came to the same value or error.
func (t ToolExecution) SameOutcome(other ToolExecution) bool {
	return t.Value == other.Value && same(t.Error, other.Error, func(a, b Error) bool { return a == b })
}

func (t ToolExecution) hasCode(code Code) bool { return t.Error != nil && t.Error.Code == code }

// Wait is what people were asked about the call, of a kind; zero: nobody was.
func (t ToolExecution) Wait(kind WaitKind) Wait {
	for _, w := range t.Waits {
		if w.Kind == kind {
			return w
		}
	}
	return Wait{}
}

// WithWait returns the execution with a wait, in place of that of its kind.
func (t ToolExecution) WithWait(w Wait) ToolExecution {
	t.Waits = slices.DeleteFunc(slices.Clone(t.Waits), func(other Wait) bool { return other.Kind == w.Kind })
	t.Waits = append(t.Waits, w.Recorded())
	return t
}
