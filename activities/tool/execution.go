package tool

import (
	"context"
	"encoding/json"
	"time"

	"everstep/domain"
)

// A Call says which call of which execution a tool is working on.
type Call struct {
	// ID is the same for every attempt of this call and for no other call.
	ID domain.ToolExecutionID
	// Key is the key of the effect: the same for all calls of the agent that are the same one by the
	// tool's EffectKey, and where that names none, the call's id. Keyed tools hand it to the other side.
	Key         string
	ExecutionID domain.ExecutionID
	// AgentID identifies the agent, and AgentName is the name of one that has one.
	AgentID   domain.AgentID
	AgentName string
	// Trusted is what whoever started the agent says about whom it acts for. No model, tool or hook can change it.
	Trusted domain.Trusted
	// Step counts from 1, Position counts the step's calls from 0.
	Step     int
	Position int
	// Attempt counts from 1. It is always 1 for an at-most-once tool.
	Attempt int
	// WaitedUntil is set where the call has waited as WaitUntil asked: until when.
	WaitedUntil time.Time
	// Note is what the session keeps for the tool; nil: nothing, or it keeps none.
	Note json.RawMessage
	// Earlier is what domain.HistoryTool may read; nil for all others.
	Earlier *domain.EarlierExecutions
	// Handle is set where the call was made before, and GoesOn gave this for it: the tool asks what
	// came of it. TakenBack says that it is given up: the tool tells the other side, and asks once more.
	Handle    json.RawMessage
	TakenBack bool
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
