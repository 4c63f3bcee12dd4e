package contract

import "everstep/domain"

// A ResolveRequest says what a call of unknown outcome really did.
type ResolveRequest struct {
	Call    domain.ToolExecutionID `json:"tool_execution_id"`
	Verdict domain.Verdict         `json:"verdict"`
	// Result is what it would have answered, where it was done and somebody knows.
	Result string `json:"result,omitzero"`
	// Reason is how whoever says so knows.
	Reason string `json:"reason"`
	// By says who says so.
	By domain.Program `json:"by,omitzero"`
}

// A ResolveReply confirms it.
type ResolveReply struct {
	// Call is the call with its settlement.
	Call domain.UnknownCall `json:"call"`
	// Left counts the calls of the agent that are still unsettled.
	Left int `json:"outcome_unknown"`
}
