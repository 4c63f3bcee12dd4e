package domain

// An ExtendRequest gives an execution new totals: the running one, or, where
// the newest stopped or failed, one that begins now and goes on from it.
type ExtendRequest struct {
	// Budget holds the new totals; what is absent stays.
	Budget ExecutionBudget `json:"budget,omitzero"`
	// Lift names limits that are taken away, by their names in a budget.
	Lift []Limit `json:"lift,omitempty"`
	// ExecutionID, where given, must be the execution that the sender means.
	ExecutionID ExecutionID `json:"execution_id,omitzero"`
}

// An ExtendReply says what came of it.
type ExtendReply struct {
	ExecutionID ExecutionID `json:"execution_id"`
	Number      int         `json:"number"`
	RunID       string      `json:"run_id"`
	// Began says that an execution began that goes on from the one before.
	Began bool `json:"began,omitzero"`
	// Budget is the one in force from now on.
	Budget ExecutionBudget `json:"budget"`
}

// A GoOn makes the input of a workflow one that goes on from an execution that
// ended in an earlier workflow of the same agent. The carry beside it holds
// what that one left.
type GoOn struct {
	// Budget is the one in force, whole.
	Budget ExecutionBudget `json:"budget,omitzero"`
	// RunID is the run that ended.
	RunID string `json:"run_id"`
	// Copy, where set, are messages too long to be carried: agent.Record copies
	// them from that run to storage before anything else.
	Copy *RecordRequest `json:"copy,omitempty"`
}

// A PauseRequest asks that nothing new starts. What is under way finishes.
type PauseRequest struct {
	// ExecutionID, where given, must be the one in progress.
	ExecutionID ExecutionID `json:"execution_id,omitzero"`
}

// A PauseReply confirms it.
type PauseReply struct {
	ExecutionID ExecutionID `json:"execution_id"`
	Number      int         `json:"number"`
	// Changed is false where it was so already.
	Changed bool `json:"changed"`
}
