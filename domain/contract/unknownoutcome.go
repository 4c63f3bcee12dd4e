package contract

import "everstep/domain"

// An OutcomeResolution makes the input of a workflow one that resolves a call of an agent without a name whose execution has ended,
// and ends at once as that did. The carry beside it holds what was left then.
type OutcomeResolution struct {
	EndedRun

	Request AnswerRequest `json:"request"`
	// Copy, where set, are messages too long to be carried, for the execution that goes on.
	Copy *RecordRequest `json:"copy,omitempty"`
}

// An EndedRun names the run in which the newest execution ended. It is in the memo of a workflow that has only resolved a
// call since: all but the resolution is read there.
type EndedRun struct {
	RunID string `json:"run_id"`
	// FirstRunID is that of its chain, by which executions are named.
	FirstRunID string `json:"first_run_id"`
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
