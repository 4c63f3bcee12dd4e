package domain

import "slices"

// A Continuation is what decides whether the loop goes on: the signals to stop,
// those that a request to continue has overridden, and whether there is such a
// request.
type Continuation struct {
	StopSignals []StopSignal `json:"stop_signals,omitempty"`
	// Overridden are signals that no longer count, kept to be seen, the newest
	// MaxOverridden.
	Overridden []StopSignal `json:"overridden,omitempty"`
	// Late are signals that came when the loop was over already. They never count.
	Late []StopSignal `json:"late,omitempty"`
	// Requested means that something asked to go on. One evaluation uses it up.
	Requested bool `json:"is_continuation_requested,omitzero"`
}

// MaxOverridden is how many overridden signals are kept, the newest: each step
// keeps what there were.
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

// IsZero reports whether nothing was signalled or requested.
func (c Continuation) IsZero() bool {
	return len(c.StopSignals) == 0 && len(c.Overridden) == 0 && len(c.Late) == 0 && !c.Requested
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
