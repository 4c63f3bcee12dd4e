package contract

import (
	"cmp"
	"encoding/json"
	"everstep/domain"
	"everstep/domain/enum"
	"slices"
	"time"
)

// A StopMode says how much of what is under way may still finish.
type StopMode string

const (
	// AfterStep lets the step finish, tools included. It is the default.
	AfterStep StopMode = "after_step"
	// AfterInference lets the inference finish; none of its calls starts, calls under way finish.
	AfterInference StopMode = "after_inference"
	// StopNow cancels all that is in flight.
	StopNow StopMode = "now"
)

// UnmarshalText accepts the known modes, the gentlest first, and reads the empty text as AfterStep.
func (m *StopMode) UnmarshalText(text []byte) error {
	return enum.DecodeOr(m, text, "mode", AfterStep, AfterStep, AfterInference, StopNow)
}

// Stronger returns the one of two modes that lets less finish.
func (m StopMode) Stronger(other StopMode) StopMode {
	modes := enum.Known[StopMode]()
	return modes[max(slices.Index(modes, m), slices.Index(modes, other), 0)]
}

// A StopRequest is the payload of the stop signal.
type StopRequest struct {
	// Reason is a text for whoever reads the outcome.
	Reason string   `json:"reason,omitzero"`
	Mode   StopMode `json:"mode,omitzero"`
	// Within escalates the stop to StopNow after a time: a Go duration such as "30s" on the wire. Zero,
	// absent or "never" on the wire, never does, and AtOnce, "0s" there, at once.
	Within Span `json:"within,omitzero"`
	// ExecutionID, where given, must be the one in progress.
	ExecutionID domain.ExecutionID `json:"execution_id,omitzero"`
	// Source says who asked. The CLI leaves it empty.
	Source string `json:"source,omitzero"`
}

// Check says what is wrong with the request in itself. Whoever sends a signal all the same has it read as ReadStop does.
func (r StopRequest) Check() error {
	if r.Within < AtOnce {
		return domain.Invalidf("within: is %s; it may not be negative", time.Duration(r.Within))
	}
	return cmp.Or(domain.CheckWord(r.Mode), domain.CheckText("reason", r.Reason, domain.MaxReason))
}

// ReadStop reads a stop's signal. One that cannot be read counts in the default mode, and says so.
func ReadStop(data []byte) StopRequest {
	var request StopRequest
	if len(data) > 0 && json.Unmarshal(data, &request) != nil {
		request = StopRequest{Reason: "the stop's payload could not be read; taken as after_step"}
	}
	request.Mode = cmp.Or(request.Mode, AfterStep)
	request.Reason, request.Source = domain.Shorten(request.Reason, domain.MaxReason), domain.Shorten(request.Source, domain.MaxReason)
	return request
}

// ServerStop is what a cancellation with the server's own tools asks for.
func ServerStop() StopRequest {
	return StopRequest{Reason: "the workflow was cancelled", Mode: StopNow, Source: "server"}
}

// Signal is what the request adds to an execution.
func (r StopRequest) Signal() domain.StopSignal {
	return domain.StopSignal{Reason: domain.UserRequested, Message: r.Reason, Source: cmp.Or(r.Source, "user")}
}

// Escalation is how long after it came the stop lets nothing go on; ok is false where it never does.
func (r StopRequest) Escalation() (after time.Duration, ok bool) {
	if r.Mode == StopNow || r.Within == AtOnce {
		return 0, true
	}
	return time.Duration(r.Within), r.Within > 0
}

// A Span is a duration that is written as text, "1m30s". Zero is none.
type Span time.Duration

// AtOnce is the span of no time, which is not the same as none.
const AtOnce Span = -1

const never = "never"

// MarshalText returns the duration's text.
func (s Span) MarshalText() ([]byte, error) {
	switch s {
	case 0:
		return []byte(never), nil
	case AtOnce:
		s = 0
	}
	return []byte(time.Duration(s).String()), nil
}

// UnmarshalText reads a duration that is not negative, or never.
func (s *Span) UnmarshalText(text []byte) error {
	if string(text) == never {
		*s = 0
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return domain.Invalidf("duration: %q is not one; write it like 30s or 1m30s, or never", string(text))
	}
	if *s = Span(d); d == 0 {
		*s = AtOnce
	}
	return nil
}
