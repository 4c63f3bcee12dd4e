package mailbox

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// An inbox holds the messages that have met an execution in progress, in the order in which they came, until each is
// read once: with the next step, or as the beginning of an execution.
type inbox struct {
	waiting []contract.WaitingMessage
	// count is of all that ever had to wait, heard the place of the newest that has joined the execution in progress.
	count, heard int64
}

// Hold has a message wait until it is read.
func (m *Mailbox) Hold(request contract.SendRequest) contract.WaitingMessage {
	m.inbox.count++
	id := m.agent.State().AgentID.Waiting(workflow.GetInfo(m.root).FirstRunID, m.inbox.count)
	held := contract.WaitingMessage{ID: id, Place: m.inbox.count, SentAt: m.now(), Request: request}
	m.inbox.waiting = append(slices.Clip(m.inbox.waiting), held)
	return held
}

// Waiting are the messages that wait. The caller must not change them.
func (m *Mailbox) Waiting() []contract.WaitingMessage { return slices.Clip(m.inbox.waiting) }

// TakeBack has a message wait no longer. One that does not is of no effect.
func (m *Mailbox) TakeBack(id domain.MessageID) {
	m.inbox.waiting = slices.DeleteFunc(slices.Clone(m.inbox.waiting), func(w contract.WaitingMessage) bool { return w.ID == id })
}

// Steered reports whether a message waits for the next step.
func (m *Mailbox) Steered() bool {
	return slices.ContainsFunc(m.inbox.waiting, contract.WaitingMessage.Steers)
}

// Hear returns the messages that wait for the next step, which wait no longer.
func (m *Mailbox) Hear() (heard []contract.WaitingMessage) {
	var left []contract.WaitingMessage
	for _, w := range m.inbox.waiting {
		if !w.Steers() {
			left = append(left, w)
			continue
		}
		heard, m.inbox.heard = append(heard, w), w.Place
	}
	m.inbox.waiting = left
	return heard
}

// Heard is the place of the newest message that has joined the execution in progress in this run; zero: none has.
func (m *Mailbox) Heard() int64 { return m.inbox.heard }

// Ready reports whether a message waits that may begin an execution once none is in progress.
func (m *Mailbox) Ready() bool { return len(m.inbox.waiting) > 0 && m.Settings.Suspended == nil }

// PostWaiting has a message that waits begin the next execution, and reports whether there was one.
func (m *Mailbox) PostWaiting() bool {
	if !m.Ready() {
		return false
	}
	first := contract.NextWaiting(m.inbox.waiting)
	m.TakeBack(first.ID)
	m.Post(NextExecution{SendRequest: first.Request, Waited: &first})
	return true
}
