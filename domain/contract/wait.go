package contract

import (
	"cmp"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"everstep/domain"
)

// An AnswerRequest is what a person says about a tool call that waits. Its verdict says for which kind of wait it is.
type AnswerRequest struct {
	// Call may be left out where one call alone waits so, but not where the outcome of one is unknown.
	Call domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	// Digest, where given, has to be that of the call that waits: domain.CallDigest. To approve a call it is needed.
	Digest  domain.Digest  `json:"digest,omitzero"`
	Verdict domain.Verdict `json:"verdict"`
	// Arguments are exactly what runs, where the call is approved with others than it waits with; empty: those. They are refused,
	// and the call waits, where they do not fit the tool or where rules deny the call with them. The model is told.
	Arguments string `json:"arguments,omitzero"`
	// Always lets calls of the tool with exactly these arguments run from now on, too, until that is revoked: a standing approval.
	Always bool `json:"always,omitzero"`
	// Text is the answer to a question, or one of its choices, Value the one to a question with a schema. Of a call of unknown
	// outcome Text is what it would have answered, where it was done and somebody knows.
	Text  string          `json:"text,omitzero"`
	Value json.RawMessage `json:"value,omitempty"`
	// By is who says so. Reason is recorded: the model reads why a call was denied, and how somebody knows what became of one.
	By     string `json:"by,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// Does is what the request does, in the word of the command that people type.
func (r AnswerRequest) Does() string {
	if r.Arguments != "" {
		return "edit"
	}
	answer, _ := r.Verdict.Kind().Rule().Takes(r.Verdict)
	return answer.Command
}

// Fits reports whether a person may say so about a wait of the kind.
func (r AnswerRequest) Fits(kind domain.WaitKind) bool {
	answer, ok := kind.Rule().Takes(r.Verdict)
	return ok && (answer.Edits || !r.Always && r.Arguments == "")
}

// Check says what is wrong with the request, whatever waits.
func (r AnswerRequest) Check() error {
	switch {
	case r.Verdict.Kind() == "":
		return domain.Invalidf("verdict: is %q, which answers no kind of wait; give one of the kind's row in domain.WaitRules", string(r.Verdict))
	case !utf8.ValidString(r.Arguments + r.Text):
		return domain.Invalidf("arguments, answer: one is not valid UTF-8; convert it")
	case max(len(r.Text), len(r.Value)) > domain.MaxAnswer:
		return domain.TooLargef("answer: has %d bytes; at most %d are allowed", max(len(r.Text), len(r.Value)), domain.MaxAnswer)
	case len(r.Value) > 0 && !json.Valid(r.Value):
		return domain.Invalidf("answer: is no JSON")
	case !r.Fits(r.Verdict.Kind()):
		return domain.Invalidf("always, arguments: are of a call that is approved; leave them out")
	case r.Always && r.Arguments != "":
		return domain.Invalidf("always: is of the arguments that were asked about; approve the call with others this once")
	case r.Always:
		return checkStandingSaid(r.By, r.Reason)
	case r.Verdict.Kind().Rule().Outlasts:
		return cmp.Or(r.Answer().CheckOutcome(), CheckSaid(r.By, r.Reason))
	}
	return CheckSaid(r.By, r.Reason)
}

// CheckSaid bounds the name of who says something, and why.
func CheckSaid(by, reason string) error {
	return cmp.Or(domain.CheckText("reason", reason, domain.MaxReason), domain.CheckText("by", by, domain.MaxDecider))
}

// checkStandingSaid is CheckSaid of what a session keeps for as long as it is open.
func checkStandingSaid(by, reason string) error {
	if len(reason) > domain.MaxStandingReason {
		return domain.TooLargef("reason: has %d bytes; of a standing approval at most %d are allowed", len(reason), domain.MaxStandingReason)
	}
	return CheckSaid(by, reason)
}

// Answer is the request as it is recorded, without when it was given.
func (r AnswerRequest) Answer() domain.Answer {
	return domain.Answer{Verdict: r.Verdict, Content: r.Text, By: r.By, Reason: r.Reason}
}

// An AnswerReply says what became of a wait.
type AnswerReply struct {
	// Number is that of the execution.
	Number int         `json:"number"`
	Wait   domain.Wait `json:"wait"`
	// Standing is the standing approval that was given with the answer, or that was there already.
	Standing *domain.StandingApproval `json:"standing_approval,omitempty"`
	// UnknownOutcomes counts the agent's calls whose outcome is still unknown.
	UnknownOutcomes int `json:"outcome_unknown"`
}

// A RevokeRequest takes a standing approval back.
type RevokeRequest struct {
	// ID is the approval's, or as much of its beginning as no other of the session has that holds.
	ID string `json:"id"`
	// By says who takes it back.
	By     string `json:"by,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// Check says what is wrong with the request in itself.
func (r RevokeRequest) Check() error { return checkStandingSaid(r.By, r.Reason) }

// A RevokeReply confirms it.
type RevokeReply struct {
	Standing domain.StandingApproval `json:"standing_approval"`
}

// Waiting is the memo of what waits for people. It holds no text of users, and no digest of a call's arguments, from which
// short ones could be guessed.
type Waiting struct {
	Waits []domain.Wait `json:"waits,omitempty"`
	// More counts those that are left out.
	More int `json:"more,omitzero"`
}

// MaxWaiting is how many calls in progress the memo names. It names all of unknown outcome.
const MaxWaiting = 40

// WaitingFor is the memo of what waits.
func WaitingFor(waits []domain.Wait) (w Waiting) {
	inStep := 0
	for _, one := range waits {
		if !one.Kind.Rule().Outlasts {
			if inStep++; inStep > MaxWaiting {
				w.More++
				continue
			}
		}
		w.Waits = append(w.Waits, one.Brief())
	}
	return w
}

// Of are the waits of calls that are over, or those of calls in progress, which the memo names.
func (w Waiting) Of(over bool) []domain.Wait {
	return slices.DeleteFunc(slices.Clone(w.Waits), func(one domain.Wait) bool { return one.Kind.Rule().Outlasts != over })
}
