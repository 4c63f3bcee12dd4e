package mailbox

import (
	"cmp"
	"slices"

	"everstep/domain/contract"
)

// A Memory is of the newest updates of a kind, so that one that is repeated after
// continue-as-new is answered and not done again. A nil one remembers nothing.
type Memory[Reply any] struct {
	answered []contract.AnsweredUpdate[Reply]
	// room is for how many; zero is the usual number.
	room int
}

const (
	remembered = 100
	// rememberedSends are more: of a flood of messages many are repeated by their senders, and none may be taken twice.
	rememberedSends = 400
	// manyTaken and mostTaken are of the updates of one run; the server takes 2,000.
	manyTaken, mostTaken = 1800, 1950
)

// Reply returns what an update was answered, if it was.
func (m *Memory[Reply]) Reply(id string) (reply Reply, ok bool) {
	if m != nil {
		for _, a := range m.answered {
			if a.ID == id {
				return a.Reply, true
			}
		}
	}
	return reply, false
}

// Keep remembers what an update was answered, in place of the oldest where they
// are many.
func (m *Memory[Reply]) Keep(id string, reply Reply) {
	if m != nil {
		all := append(slices.Clip(m.answered), contract.AnsweredUpdate[Reply]{ID: id, Reply: reply})
		m.answered = all[max(len(all)-cmp.Or(m.room, remembered), 0):]
	}
}

// Took counts an update that was taken.
func (m *Mailbox) Took() { m.taken, m.spoken = m.taken+1, m.now() }

// Full reports whether this run has taken about as many updates as the server
// lets one take.
func (m *Mailbox) Full() bool { return m.taken >= manyTaken }

// Pressed reports whether the server will soon take no more of them.
func (m *Mailbox) Pressed() bool { return m.taken >= mostTaken }

// Carry writes down what the next run needs of the mailbox.
func (m *Mailbox) Carry(to *contract.Carry) {
	to.Answered, to.Extended, to.Decided, to.Replied, to.Paused = m.Sent.answered, m.Extended.answered, m.Decided.answered, m.Replied.answered, m.paused
	to.Unsent, to.Waiting, to.MessagesWaited = m.Unsent.answered, m.inbox.waiting, m.inbox.count
	to.Emptied, to.Suspended, to.Rewound = m.Emptied.answered, m.suspended, m.Rewound.answered
	to.IdleSince = m.IdleSince()
}
