package contract

import (
	"encoding/json"

	"everstep/domain"
)

// An AnswerRequest answers a question that a tool call asks.
type AnswerRequest struct {
	// Call may be left out where one question alone waits.
	Call domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	// Digest, where given, has to be that of the call which asks.
	Digest domain.Digest `json:"digest,omitzero"`
	// Text is the answer, or one of the choices; Value the one to a question with a schema.
	Text  string          `json:"text,omitzero"`
	Value json.RawMessage `json:"value,omitempty"`
	// By says who answers. Reason is recorded, and not for the model.
	By     string `json:"by,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// An AnswerReply says what became of a question.
type AnswerReply struct {
	ExecutionID     domain.ExecutionID     `json:"execution_id"`
	Number          int                    `json:"number"`
	Step            int                    `json:"step"`
	ToolExecutionID domain.ToolExecutionID `json:"tool_execution_id"`
	Tool            string                 `json:"tool"`
	Answer          domain.Answer          `json:"answer"`
}

// Waiting is the memo of what waits for people. It holds no text of users, and no digest of a call's arguments, from which
// short ones could be guessed.
type Waiting struct {
	Approvals []domain.PendingApproval `json:"approvals,omitempty"`
	Questions []WaitingQuestion        `json:"questions,omitempty"`
	// Rewritten are the calls that would run with other arguments than the model gave.
	Rewritten []domain.ToolExecutionID `json:"rewritten,omitempty"`
	// More counts those that are left out.
	More int `json:"more,omitzero"`
}

// A WaitingQuestion is a question without its texts.
type WaitingQuestion struct {
	domain.PendingCall
	domain.Answer
}

// MaxWaiting is how many approvals, and how many questions, the memo names.
const MaxWaiting = 20

// WaitingFor is the memo of what waits; asGiven reports whether a call would run as the model gave it.
func WaitingFor(pending []domain.PendingApproval, questions []domain.PendingQuestion, asGiven func(domain.PendingApproval) bool) Waiting {
	var w Waiting
	for _, p := range pending[:min(len(pending), MaxWaiting)] {
		if !asGiven(p) {
			w.Rewritten = append(w.Rewritten, p.ToolExecutionID)
		}
		p.Arguments, p.Tool, p.Rule, p.Digest = "", domain.Shorten(p.Tool, 64), "", domain.Digest{}
		w.Approvals = append(w.Approvals, p)
	}
	for _, q := range questions[:min(len(questions), MaxWaiting)] {
		q.Tool, q.Digest = domain.Shorten(q.Tool, 64), domain.Digest{}
		w.Questions = append(w.Questions, WaitingQuestion{q.PendingCall, q.Answer})
	}
	w.More = len(pending) - len(w.Approvals) + len(questions) - len(w.Questions)
	return w
}

// Count is how much waits.
func (w Waiting) Count() int { return len(w.Approvals) + len(w.Questions) + w.More }
