package domain

import "context"

// A Boundary is a point at which a worker can die. The promises hold at each,
// and the proof kills workers at each.
type Boundary string

const (
	// BeforeRequest: an inference attempt has begun and sent nothing.
	BeforeRequest Boundary = "before_request"
	// InStream: a part of the model's answer has arrived.
	InStream Boundary = "in_stream"
	// AfterRequest: the answer is whole and not yet reported.
	AfterRequest Boundary = "after_request"
	// BeforeEffect: a tool call has begun and done nothing.
	BeforeEffect Boundary = "before_effect"
	// AfterEffect: a tool has done its work and not yet reported.
	AfterEffect Boundary = "after_effect"
	// AmongCalls: some of a step's parallel calls have ended, others not.
	AmongCalls Boundary = "among_calls"
	// BetweenSteps: the workflow is about to schedule a step's inference.
	BetweenSteps Boundary = "between_steps"
	// Continuing: the run is about to continue as new.
	Continuing Boundary = "continuing"
)

// Boundaries lists every boundary, in the order of a step.
func Boundaries() []Boundary {
	return []Boundary{BeforeRequest, InStream, AfterRequest, BeforeEffect, AfterEffect, AmongCalls, BetweenSteps, Continuing}
}

// UnmarshalText accepts the known boundaries only.
func (b *Boundary) UnmarshalText(text []byte) error {
	return decodeEnum(b, text, Boundaries(), "boundary")
}

// A Place says in which agent's work a boundary was reached.
type Place struct {
	WorkflowID string
	// ExecutionID and Step are zero where the run continues as new.
	ExecutionID ExecutionID
	Step        int
}

type placeKey struct{}

// WithPlace returns a context in which PlaceOf answers with the place.
func WithPlace(ctx context.Context, place Place) context.Context {
	return context.WithValue(ctx, placeKey{}, place)
}

// PlaceOf tells what is called at a boundary where that is. The zero value
// means that the context does not know.
func PlaceOf(ctx context.Context) Place {
	place, _ := ctx.Value(placeKey{}).(Place)
	return place
}
