package domain

import (
	"everstep/domain/enum"
	"slices"
	"time"
)

// MaxStops is how many stops of users one execution keeps as signals, as each step keeps what there were. More of
// them are counted.
const MaxStops = 100

// WithStopSignal returns the state with one more signal. It fails where no execution is in progress, the
// reason is unknown or the context is not JSON.
func (s AgentState) WithStopSignal(signal StopSignal, now time.Time) (AgentState, error) {
	if err := s.active("signalling a stop"); err != nil {
		return s, err
	}
	kept, err := keep(signal)
	if err != nil {
		return s, invalid(err)
	}
	stops := 0
	for _, other := range s.Execution.Continuation.StopSignals {
		if other.Reason == UserRequested {
			stops++
		}
	}
	if c := &s.Execution.Continuation; kept.Reason == UserRequested && stops >= MaxStops {
		c.More++
	} else {
		c.StopSignals = plus(c.StopSignals, kept)
	}
	return s.updated(now), nil
}

// WithContinuationRequested returns the state with a request to go on, which the next evaluation uses up.
// Beside an error, a limit or a user's stop it has no effect.
func (s AgentState) WithContinuationRequested(now time.Time) (AgentState, error) {
	if err := s.active("requesting to continue"); err != nil {
		return s, err
	}
	s.Execution.Continuation.Requested = true
	return s.updated(now), nil
}

// WithLateSignals returns the state with the signals from an index on as late ones, which never count.
// Those of reason error stay: they fail an execution at any time.
func (s AgentState) WithLateSignals(from int, now time.Time) AgentState {
	if from < 0 || from >= len(s.Execution.Continuation.StopSignals) {
		return s
	}
	c := &s.Execution.Continuation
	came := c.StopSignals[from:]
	c.StopSignals = slices.Clone(nilIfEmpty(c.StopSignals[:from]))
	for _, signal := range came {
		if signal.Reason == ErrorForbade {
			c.StopSignals = append(c.StopSignals, signal)
		} else {
			c.Late = plus(c.Late, signal)
		}
	}
	return s.updated(now)
}

// ShouldStop reports whether the loop is over; the first that fits: a signal that no request overrides,
// stop; a request to continue, go on; the step asked for tools, go on; else stop.
func (s AgentState) ShouldStop() bool {
	e := s.Execution
	switch {
	case !s.HasActiveExecution(), e.Continuation.Stops():
		return true
	case e.Continuation.Requested:
		return false
	}
	step := e.currentOrLast()
	return step == nil || !step.AsksForTools()
}

// Evaluate is ShouldStop after a step. It uses up a request to continue, and what that overrode.
func (s AgentState) Evaluate(now time.Time) (AgentState, bool) {
	stop := s.ShouldStop()
	return s.evaluated(now), stop
}

// EvaluateBetween is the check before a step: only the first rule, that of signals. It too uses up a request.
func (s AgentState) EvaluateBetween(now time.Time) (AgentState, bool) {
	stop := !s.HasActiveExecution() || s.Execution.Continuation.Stops()
	return s.evaluated(now), stop
}

// evaluated returns the state with its request to continue used up, and what that overrode apart.
func (s AgentState) evaluated(now time.Time) AgentState {
	if !s.HasActiveExecution() || !s.Execution.Continuation.Requested {
		return s
	}
	c := &s.Execution.Continuation
	if c.continues() && len(c.StopSignals) > 0 {
		c.Overridden = plus(c.Overridden, c.StopSignals...)
		c.Overridden = c.Overridden[max(len(c.Overridden)-MaxOverridden, 0):]
		c.StopSignals = nil
	}
	c.Requested = false
	return s.updated(now)
}

// StopSignal returns the signal that counts.
func (s AgentState) StopSignal() (StopSignal, bool) { return s.Execution.Continuation.Signal() }

// StopReason is the reason that counts.
func (s AgentState) StopReason() (StopReason, bool) {
	signal, ok := s.StopSignal()
	return signal.Reason, ok
}

// StopSignals are those that count, in the order in which they came.
func (s AgentState) StopSignals() []StopSignal { return s.Continuation().StopSignals }

// Continuation is a copy of all signals and the request to continue.
func (s AgentState) Continuation() Continuation { return Clone(s.Execution.Continuation) }

// A StopReason says why an execution stops. Unknown values fail to decode.
type StopReason string

// The reasons that are no limit's; those stand beside the limits.
const (
	// ErrorForbade: an unrecoverable error.
	ErrorForbade StopReason = "error"
	// StopRequested: a hook or a tool asked.
	StopRequested StopReason = "stop_requested"
	// RetryLimitReached: the answers did not pass their check too often.
	RetryLimitReached StopReason = "retry_limit"
	// FinishReasonReceived: the model ended with a finish reason that a guard is set to stop at.
	FinishReasonReceived StopReason = "finish_reason"
	// UserRequested: a person or program outside asked.
	UserRequested StopReason = "user_requested"
	// Completed: the agent was done.
	Completed StopReason = "completed"
	// Unknown: the cause could not be told.
	Unknown StopReason = "unknown"
)

// Priority ranks the reasons, those that are not forced among themselves: the lowest number counts, and the
// earliest among equals. See CountingSignal.
func (r StopReason) Priority() int {
	for _, rule := range limitRules[:] {
		if rule.Reason == r && rule.RanksAs != "" {
			r = rule.RanksAs
		}
	}
	reasons := enum.Known[StopReason]()
	if rank := slices.Index(reasons, r); rank >= 0 {
		return rank
	}
	return len(reasons)
}

// WasForceStopped reports whether an execution that ends for this reason did not end by itself.
func (r StopReason) WasForceStopped() bool { return r != FinishReasonReceived && r != Completed }

// Overridable reports whether a continuation request may override the reason. An
// error, a limit and a user's stop are promises that no hook can cancel.
func (r StopReason) Overridable() bool {
	return r == StopRequested || r == FinishReasonReceived || r == Completed || r == Unknown
}

// OfLimit reports whether the reason is that of a limit.
func (r StopReason) OfLimit() bool {
	return slices.ContainsFunc(limitRules[:], func(rule LimitRule) bool { return rule.Reason == r })
}

// UnmarshalText accepts the known reasons only, which stand in the order of their priority; of equals, in that of limits.
func (r *StopReason) UnmarshalText(text []byte) error {
	known := []StopReason{ErrorForbade, StopRequested}
	for _, rule := range limitRules[:] {
		if !slices.Contains(known, rule.Reason) {
			known = append(known, rule.Reason)
		}
	}
	known = append(known, RetryLimitReached, FinishReasonReceived, UserRequested, Completed, Unknown)
	return enum.Decode(r, text, "stop reason", known...)
}

// A Continuation is what decides whether the loop goes on: signals to stop, and a request to continue.
type Continuation struct {
	StopSignals []StopSignal `json:"stop_signals,omitempty"`
	// Overridden are signals that no longer count, the newest MaxOverridden.
	Overridden []StopSignal `json:"overridden,omitempty"`
	// Late are signals that came when the loop was over already. They never count.
	Late []StopSignal `json:"late,omitempty"`
	// More counts the stops of users that came beyond MaxStops of them.
	More int `json:"more_stops,omitzero"`
	// Requested means that something asked to go on. One evaluation uses it up.
	Requested bool `json:"is_continuation_requested,omitzero"`
}

// MaxOverridden is how many overridden signals are kept: each step keeps what there were.
const MaxOverridden = 10

func (c Continuation) size() int {
	n := 0
	for _, signals := range [][]StopSignal{c.StopSignals, c.Overridden, c.Late} {
		for _, signal := range signals {
			n += 64 + encodedLen(signal.Message) + encodedLen(signal.Source) + signal.Context.size()
		}
	}
	return n
}

// Signal returns the signal that counts, where there is one.
func (c Continuation) Signal() (StopSignal, bool) { return CountingSignal(c.StopSignals) }

// Stops is the first rule of stopping: a signal that no request to continue overrides.
func (c Continuation) Stops() bool { return len(c.StopSignals) > 0 && !c.continues() }

// continues reports whether there is a request to continue that has an effect.
func (c Continuation) continues() bool {
	return c.Requested && !slices.ContainsFunc(c.StopSignals, func(s StopSignal) bool {
		return !s.Reason.Overridable()
	})
}

// A StopSignal is one request to stop. Of several the priority of their reasons decides which counts.
type StopSignal struct {
	Reason  StopReason `json:"reason"`
	Message string     `json:"message,omitzero"`
	// Context is what the emitter noted beside it.
	Context Metadata `json:"context,omitempty"`
	// Source says who emitted it: a hook, a tool, a limit, the user.
	Source string `json:"source,omitzero"`
}

// The sources of errors and stop signals that are none of a hook's, tool's or provider's. They are recorded.
const (
	SourceAgent         = "agent"             // the signal of an agent that was done
	SourceInference     = "inference"         // what becomes of asking the model
	SourceOutput        = "structured_output" // the guard of the response format
	SourceBudget        = "budget"            // a limit's signal
	SourceSessionBudget = "session_budget"    // the signal of a limit over the session
	SourceSubagent      = "subagent"          // what goes wrong with sub-agents
	SourceParent        = "parent"            // stops that the agent that started a sub-agent hands on to it
)

// Done is the signal of a natural end.
func Done() StopSignal {
	return StopSignal{Reason: Completed, Source: SourceAgent, Message: "the model gave its answer and asked for nothing more"}
}

// SignalOf returns the signal that an unrecoverable error adds.
func SignalOf(err *Error) StopSignal {
	return StopSignal{Reason: ErrorForbade, Message: err.Message, Source: err.Source}
}

// CountingSignal returns the forced signal of the highest priority, the earliest among equals. One that is
// not forced counts only where none is: nothing that was content to end hides a stop.
func CountingSignal(signals []StopSignal) (counts StopSignal, ok bool) {
	for _, s := range signals {
		forced, counted := s.Reason.WasForceStopped(), counts.Reason.WasForceStopped()
		if !ok || forced && !counted || forced == counted && s.Reason.Priority() < counts.Reason.Priority() {
			counts, ok = s, true
		}
	}
	return counts, ok
}
