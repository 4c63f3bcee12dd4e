package contract

import (
	"context"
	"everstep/domain"
	"everstep/domain/enum"
)

// A Boundary is a point at which a worker can die: the promises hold there, and the proof kills there.
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
	// InSummary: a part of a summary of the conversation has arrived.
	InSummary Boundary = "in_summary"
	// BeforeHook: a hook that is an activity has begun and done nothing.
	BeforeHook Boundary = "before_hook"
	// AfterHook: a hook that is an activity has done its work and not yet reported.
	AfterHook Boundary = "after_hook"
	// Checking: an answer that a hook has made is being held against the response format.
	Checking Boundary = "checking"
	// Paused: the execution is paused, and nothing is under way.
	Paused Boundary = "paused"
	// GoingOn: an execution begins that goes on from one that stopped or failed.
	GoingOn Boundary = "going_on"
)

// UnmarshalText accepts the known boundaries only: those of a plain agent's step in order, then the others.
func (b *Boundary) UnmarshalText(text []byte) error {
	return enum.Decode(b, text, "boundary",
		BeforeRequest, InStream, AfterRequest, BeforeEffect, AfterEffect, AmongCalls, BetweenSteps, Continuing,
		InSummary, BeforeHook, AfterHook, Checking, Paused, GoingOn,
	)
}

// A Place says in which agent's work a boundary was reached.
type Place struct {
	WorkflowID string
	// ExecutionID and Step are zero where the run continues as new.
	ExecutionID domain.ExecutionID
	Step        int
	// Summary says that the inference there sums up a part of the conversation.
	Summary bool
}

type placeKey struct{}

// WithPlace returns a context in which PlaceOf answers with the place.
func WithPlace(ctx context.Context, place Place) context.Context {
	return context.WithValue(ctx, placeKey{}, place)
}

// PlaceOf tells what is called at a boundary where that is; zero: the context does not know.
func PlaceOf(ctx context.Context) Place {
	place, _ := ctx.Value(placeKey{}).(Place)
	return place
}
