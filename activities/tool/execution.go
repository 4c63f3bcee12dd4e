package tool

import (
	"context"

	"everstep/domain"
)

// A Call says which call of which execution a tool is working on.
type Call struct {
	// ID is the same for every attempt of this call and for no other call:
	// hand it to the other side as the key of an effect that must happen once.
	ID          domain.ToolExecutionID
	ExecutionID domain.ExecutionID
	// Step counts from 1, Position counts the step's calls from 0.
	Step     int
	Position int
	// Attempt counts from 1. It is always 1 for an at-most-once tool.
	Attempt int
}

type callKey struct{}

// WithExecution returns a context in which ExecutionOf answers with call. The
// worker does this for every call; tests of a tool may.
func WithExecution(ctx context.Context, call Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// ExecutionOf tells a tool which call it is working on. It answers false
// outside one.
func ExecutionOf(ctx context.Context) (Call, bool) {
	call, ok := ctx.Value(callKey{}).(Call)
	return call, ok
}
