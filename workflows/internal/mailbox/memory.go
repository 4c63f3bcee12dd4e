package mailbox

import (
	"slices"

	"everstep/domain/contract"
)

// memory is of the newest updates, so that one that is repeated after
// continue-as-new is answered and not done again.
type memory struct {
	answered []contract.AnsweredUpdate
	extended []contract.ExtendedUpdate
	// taken counts those of this run; the server takes 2,000 of a run.
	taken int
}

const (
	remembered = 100
	manyTaken  = 1800
)

// Took counts an update that was taken.
func (m *Mailbox) Took() { m.memory.taken++ }

// Full reports whether this run has taken about as many updates as the server
// lets one take.
func (m *Mailbox) Full() bool { return m.memory.taken >= manyTaken }

// Sent returns what an update send was answered, if it was.
func (m *Mailbox) Sent(id string) (contract.SendReply, bool) {
	i := slices.IndexFunc(m.memory.answered, func(a contract.AnsweredUpdate) bool { return a.ID == id })
	if i < 0 {
		return contract.SendReply{}, false
	}
	return m.memory.answered[i].Reply, true
}

// RememberSent keeps what an update send was answered.
func (m *Mailbox) RememberSent(id string, reply contract.SendReply) {
	m.memory.answered = newest(m.memory.answered, contract.AnsweredUpdate{ID: id, Reply: reply})
}

// Extended returns what an update extend was answered, if it was.
func (m *Mailbox) Extended(id string) (contract.ExtendReply, bool) {
	i := slices.IndexFunc(m.memory.extended, func(e contract.ExtendedUpdate) bool { return e.ID == id })
	if i < 0 {
		return contract.ExtendReply{}, false
	}
	return m.memory.extended[i].Reply, true
}

// RememberExtended keeps what an update extend was answered.
func (m *Mailbox) RememberExtended(id string, reply contract.ExtendReply) {
	m.memory.extended = newest(m.memory.extended, contract.ExtendedUpdate{ID: id, Reply: reply})
}

// newest adds an update to those that are remembered, in place of the oldest
// where they are many.
func newest[Update any](all []Update, one Update) []Update {
	all = append(slices.Clip(all), one)
	return all[max(len(all)-remembered, 0):]
}

// Carry writes down what the next run needs of the mailbox.
func (m *Mailbox) Carry(to *contract.Carry) {
	to.Answered, to.Extended, to.Paused = m.memory.answered, m.memory.extended, m.pause.on
}
