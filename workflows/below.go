package workflows

import (
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// tellWaits has the agent that has started this one know when this one waits for people. Whether the word reaches it does
// not matter: it is over then.
func (s session) tellWaits() {
	if s.in.Parent == nil {
		return
	}
	s.mail.TellWaits(func(word contract.ChildWaits) {
		word.ToolExecutionID = s.in.Parent.Call()
		workflow.SignalExternalWorkflow(s.root, s.above(), "", string(contract.SignalChildWaits), word)
	})
}

// above is the workflow of the agent that has started this one.
func (s session) above() string {
	if above := s.info.ParentWorkflowExecution; above != nil {
		return above.ID
	}
	return domain.WorkflowID(s.in.Parent.AgentID.String())
}

// Held notes that the sub-agent of a call waits for people, or for what it has asked, or that it goes on.
func (l *lender) Held(on bool) {
	l.waits = on
	l.count()
}

// heldAbove notes that what the sub-agent has asked for was handed on, or that there is an answer.
func (l *lender) heldAbove(on bool) {
	l.handed = on
	l.count()
}

// count has the call count as one that waits for people for as long as its sub-agent does.
func (l *lender) count() {
	if on := l.waits || l.handed; on != l.counted {
		l.counted = on
		l.holdBelow(on)
	}
}

// holdBelow notes that the sub-agent of a call waits, or no longer does.
func (b *toolBatch) holdBelow(on bool) {
	if on {
		b.held++
	} else {
		b.held--
	}
	b.reckon()
}

// seatless notes that a call waits for a seat, and so for the sub-agents under way, or no longer does.
func (b *toolBatch) seatless(on bool) {
	if on {
		b.behind++
	} else {
		b.behind--
	}
	b.reckon()
}
