package domain

import "slices"

// A Continuation is what decides whether the loop goes on: signals to stop, and a request to continue.
type Continuation struct {
	StopSignals []StopSignal `json:"stop_signals,omitempty"`
	// Overridden are signals that no longer count, the newest MaxOverridden.
	Overridden []StopSignal `json:"overridden,omitempty"`
	// Late are signals that came when the loop was over already. They never count.
	Late []StopSignal `json:"late,omitempty"`
	// Requested means that something asked to go on. One evaluation uses it up.
	Requested bool `json:"is_continuation_requested,omitzero"`
}

// MaxOverridden is how many overridden signals are kept: each step keeps what there were.
const MaxOverridden = 10

// size is about how many bytes the continuation takes when encoded.
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

// Stops is the first rule of stopping: there is a signal, and no request to
// continue that may override it.
func (c Continuation) Stops() bool { return len(c.StopSignals) > 0 && !c.continues() }

// continues reports whether there is a request to continue that has an effect.
func (c Continuation) continues() bool {
	return c.Requested && !slices.ContainsFunc(c.StopSignals, func(s StopSignal) bool {
		return !s.Reason.Overridable()
	})
}

// evaluated returns the continuation after one evaluation: the request is used
// up, and what it overrode no longer counts.
func (c Continuation) evaluated() Continuation {
	if c.continues() && len(c.StopSignals) > 0 {
		c.Overridden = append(slices.Clip(c.Overridden), c.StopSignals...)
		c.Overridden = c.Overridden[max(len(c.Overridden)-MaxOverridden, 0):]
		c.StopSignals = nil
	}
	c.Requested = false
	return c
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

// SignalOf returns the signal that an unrecoverable error adds.
func SignalOf(err *Error) StopSignal {
	return StopSignal{Reason: ErrorForbade, Message: err.Message, Source: err.Source}
}

// CountingSignal returns the signal that counts: the one of the highest
// priority, the earliest among equals.
func CountingSignal(signals []StopSignal) (StopSignal, bool) {
	if len(signals) == 0 {
		return StopSignal{}, false
	}
	return slices.MinFunc(signals, func(a, b StopSignal) int { return a.Reason.Priority() - b.Reason.Priority() }), true
}
