package domain

import (
	"slices"
	"time"
)

// This file is the signals to stop, and the rule, on the agent's state.

// WithStopSignal returns the state with one more signal. It fails where no execution is in progress, the
// reason is unknown or the context is not JSON.
func (s AgentState) WithStopSignal(signal StopSignal, now time.Time) (AgentState, error) {
	if err := s.active("signalling a stop"); err != nil {
		return s, err
	}
	if err := new(StopReason).UnmarshalText([]byte(signal.Reason)); err != nil {
		return s, invalid(err)
	}
	kept, err := signal.kept()
	if err != nil {
		return s, invalid(err)
	}
	return s.changed(now, func(e *executionWire) {
		e.Continuation.StopSignals = plus(e.Continuation.StopSignals, kept)
	}), nil
}

// WithContinuationRequested returns the state with a request to go on, which the next evaluation uses up.
// Beside an error, a limit or a user's stop it has no effect.
func (s AgentState) WithContinuationRequested(now time.Time) (AgentState, error) {
	if err := s.active("requesting to continue"); err != nil {
		return s, err
	}
	return s.changed(now, func(e *executionWire) { e.Continuation.Requested = true }), nil
}

// WithLateSignals returns the state with the signals from an index on as late ones, which never count.
// Those of reason error stay: they fail an execution at any time.
func (s AgentState) WithLateSignals(from int, now time.Time) AgentState {
	if from < 0 || from >= len(s.StopSignals()) {
		return s
	}
	return s.changed(now, func(e *executionWire) {
		c := &e.Continuation
		came := c.StopSignals[from:]
		c.StopSignals = slices.Clone(nilIfEmpty(c.StopSignals[:from]))
		for _, signal := range came {
			if signal.Reason == ErrorForbade {
				c.StopSignals = append(c.StopSignals, signal)
			} else {
				c.Late = plus(c.Late, signal)
			}
		}
	})
}

// ShouldStop reports whether the loop is over; the first that fits: a signal that no request overrides,
// stop; a request to continue, go on; the step asked for tools, go on; else stop.
func (s AgentState) ShouldStop() bool { return s.w.Execution == nil || s.w.Execution.shouldStop() }

// Evaluate is ShouldStop, after a step. It uses up a request to continue and
// moves the signals that it overrode.
func (s AgentState) Evaluate(now time.Time) (AgentState, bool) {
	stop := s.ShouldStop()
	return s.evaluated(now), stop
}

// EvaluateBetween is the check before a step: only the first rule, that of signals. It too uses up a request.
func (s AgentState) EvaluateBetween(now time.Time) (AgentState, bool) {
	stop := !s.HasActiveExecution() || s.Continuation().Stops()
	return s.evaluated(now), stop
}

func (s AgentState) evaluated(now time.Time) AgentState {
	if !s.HasActiveExecution() || !s.Continuation().Requested {
		return s
	}
	return s.changed(now, func(e *executionWire) { e.Continuation = e.Continuation.evaluated() })
}

// StopSignal returns the signal that counts.
func (s AgentState) StopSignal() (StopSignal, bool) { return s.Continuation().Signal() }

// StopReason is the reason that counts.
func (s AgentState) StopReason() (StopReason, bool) {
	signal, ok := s.StopSignal()
	return signal.Reason, ok
}

// StopSignals are those that count, in the order in which they came. The caller
// must not change them.
func (s AgentState) StopSignals() []StopSignal { return s.Continuation().StopSignals }

// Continuation holds all signals and the request to continue. The caller must not change it.
func (s AgentState) Continuation() Continuation { return s.execution().w.Continuation }
