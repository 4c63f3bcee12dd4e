package contract

import "everstep/domain"

// A RewindRequest has an idle session go on from a step of its past, as whoever asks for it has read that: the workflow
// has left it, or never knew.
type RewindRequest struct {
	// Origin is the step, with where its execution went on from itself, and Number counts that execution.
	Origin domain.Origin `json:"origin"`
	Number int           `json:"execution_number"`
	// Newest is the newest execution that the asker knows of: what has begun since was not looked at.
	Newest int `json:"newest_execution"`
	// Log is the transcript after that step, and Edits are those with which the model was shown it.
	Log   domain.LogRef `json:"log"`
	Edits domain.Edits  `json:"edits,omitzero"`
	// Inferences counts those that were completed by then.
	Inferences int `json:"inferences,omitzero"`
	// ShownTokens are those after that step: a workflow counts for itself what it has in memory.
	ShownTokens
	// Prompt begins the next execution at once, with a model and within a budget where they are given. Empty: the next
	// message does.
	Prompt string                 `json:"prompt,omitzero"`
	Model  *domain.LLMConfig      `json:"model,omitempty"`
	Budget domain.ExecutionBudget `json:"budget,omitzero"`
	// By says who asks for it.
	By domain.Program `json:"started_by,omitzero"`
}

// Message is the one that begins the next execution at once; that without a prompt is none.
func (r RewindRequest) Message() SendRequest {
	return SendRequest{Prompt: r.Prompt, Model: r.Model, Budget: r.Budget, By: r.By}
}

// Check says what is wrong with the message, if there is one.
func (r RewindRequest) Check() error {
	switch {
	case r.Prompt != "":
		return r.Message().Check()
	case r.Model != nil || !r.Budget.IsZero():
		return domain.Invalidf("model, budget: are the next message's, which is not given; give them with it")
	}
	return nil
}

// A RewindReply says what came of it.
type RewindReply struct {
	// ExecutionID and Number are of the execution that goes on from there: Began says that it has begun.
	ExecutionID domain.ExecutionID `json:"execution_id"`
	Number      int                `json:"execution_number"`
	RunID       string             `json:"run_id"`
	Began       bool               `json:"began,omitzero"`
	// TakenBack counts the messages that the model sees no more: those that came after the step, and were not taken back before.
	TakenBack int `json:"messages_taken_back"`
}
