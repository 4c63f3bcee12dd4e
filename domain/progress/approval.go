package progress

import (
	"fmt"

	"everstep/domain"
)

// NotApproved is what the model gets to read of a call that a stop kept from being approved.
func NotApproved() *domain.Error {
	return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the execution was stopped before a person had approved the call")
}

// NotBegun is what the model gets to read of a call that was approved and then kept from beginning by a stop.
func NotBegun() *domain.Error {
	return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: a person had approved the call, but the execution was stopped before it began")
}

// WaitingNote says in one line what waits for people; empty: nothing does.
func WaitingNote(pending []domain.PendingApproval, questions []domain.PendingQuestion) string {
	switch n := len(pending) + len(questions); {
	case n == 0:
		return ""
	case n == 1 && len(pending) == 1:
		return fmt.Sprintf("step %d: %s waits for approval", pending[0].Step, domain.Shorten(pending[0].Tool, 64))
	case n == 1:
		return fmt.Sprintf("step %d: %s waits for an answer", questions[0].Step, domain.Shorten(questions[0].Tool, 64))
	case len(questions) == 0:
		return fmt.Sprintf("step %d: %d calls wait for approval", pending[0].Step, n)
	case len(pending) == 0:
		return fmt.Sprintf("step %d: %d calls wait for answers", questions[0].Step, n)
	default:
		return fmt.Sprintf("step %d: %d calls wait for people", questions[0].Step, n)
	}
}
