package domain

// A StopSignal is one request to stop. Every signal of an execution stays
// visible; the one that counts is decided by its reason's priority.
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
	counts := signals[0]
	for _, s := range signals[1:] {
		if s.Reason.Priority() < counts.Reason.Priority() {
			counts = s
		}
	}
	return counts, true
}
