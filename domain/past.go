package domain

import "slices"

// HistoryTool is the name of the tool with which an agent reads its own past executions.
const HistoryTool = "execution_history"

// A Past is what an execution may read of the earlier ones of its agent: those of its own session, and those that it goes
// on from. Whoever had the same id or name before acted for somebody else.
type Past struct {
	// FirstRunID names the session: its executions' ids follow from it.
	FirstRunID string `json:"first_run_id"`
	// Origins are the executions that this one goes on from, which another workflow may have run.
	Origins []ExecutionID `json:"origins,omitempty"`
	// TakenBack are the messages that rewinds and clears have taken back: of their text nothing may be read.
	TakenBack []Span `json:"taken_back,omitempty"`
}

// Holds reports whether an execution of an agent is of this past.
func (p Past) Holds(agent AgentID, execution ExecutionID, number int) bool {
	return agent.Execution(p.FirstRunID, number) == execution || slices.Contains(p.Origins, execution)
}
