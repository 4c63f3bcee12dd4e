package contract

import "everstep/domain"

// An ApproveRequest lets a tool call run that waits for a person's word.
type ApproveRequest struct {
	// Call may be left out where one call alone waits.
	Call domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	// Digest is of the call that the person has seen: domain.CallDigest. Any other call is refused.
	Digest domain.Digest `json:"digest"`
	// By says who approves it.
	By     string `json:"by,omitzero"`
	Reason string `json:"reason,omitzero"`
	// Always lets calls of the tool with exactly these arguments run from now on, too: a standing approval.
	Always bool `json:"always,omitzero"`
}

// An EditRequest lets a tool call run that waits for a person's word, with arguments of the person's own.
type EditRequest struct {
	// Call may be left out where one call alone waits.
	Call domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	// Digest is of the call that the person has seen. Any other call is refused.
	Digest domain.Digest `json:"digest"`
	// Arguments are exactly what runs.
	Arguments string `json:"arguments"`
	// By says who it is.
	By     string `json:"by,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// A DenyRequest denies a tool call that waits for a person's word.
type DenyRequest struct {
	// Call may be left out where one call alone waits.
	Call domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	// Digest, where given, has to be that of the call.
	Digest domain.Digest `json:"digest,omitzero"`
	// By says who denies it. Reason is for the model, too.
	By     string `json:"by,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// A DecisionReply says what was decided.
type DecisionReply struct {
	ExecutionID     domain.ExecutionID     `json:"execution_id"`
	Number          int                    `json:"number"`
	Step            int                    `json:"step"`
	ToolExecutionID domain.ToolExecutionID `json:"tool_execution_id"`
	Tool            string                 `json:"tool"`
	Approval        domain.Approval        `json:"approval"`
	// Standing is the standing approval that was given with it, or that was there already.
	Standing *domain.StandingApproval `json:"standing_approval,omitempty"`
}

// A RevokeRequest takes a standing approval back.
type RevokeRequest struct {
	ID domain.ToolExecutionID `json:"id"`
	// By says who takes it back.
	By     string `json:"by,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// A RevokeReply confirms it.
type RevokeReply struct {
	Standing domain.StandingApproval `json:"standing_approval"`
}
