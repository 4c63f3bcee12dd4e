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

// A VerifyReply is what a tool's Verify has found out of a call whose outcome is unknown.
type VerifyReply struct {
	// Verdict is absent where it is still not known.
	Verdict domain.Verdict `json:"verdict,omitzero"`
	// Result is what the call would have answered, where it was done.
	Result string `json:"result,omitzero"`
	// Reason is how the tool knows, or why it does not. Of what was not done it says how it was fenced.
	Reason string `json:"reason,omitzero"`
}
