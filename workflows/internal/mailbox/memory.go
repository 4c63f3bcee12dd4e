package mailbox

import (
	"cmp"
	"encoding/json"
	"slices"

	"everstep/domain"
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
	// carriedReplies bounds what of a memory the next run gets, in bytes when encoded, and carriedSends the same of those
	// of messages.
	carriedReplies = 40_000
	carriedSends   = 200_000
	// longestID is up to where an update's id is remembered itself: of a longer one the digest is.
	longestID = 64
	// manyTaken and mostTaken are of the updates of one run; the server takes 2,000, and counts those under way that will
	// be refused, of which there may be a hundred.
	manyTaken, mostTaken = 1800, 1850
)

// Reply returns what an update was answered, if it was.
func (m *Memory[Reply]) Reply(id string) (reply Reply, ok bool) {
	if m != nil {
		for _, a := range m.answered {
			if a.ID == id || a.ID == keyOf(id) {
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
		all := append(slices.Clip(m.answered), contract.AnsweredUpdate[Reply]{ID: keyOf(id), Reply: reply})
		m.answered = all[max(len(all)-cmp.Or(m.room, remembered), 0):]
	}
}

// keyOf is what is remembered of an update's id, which clients choose.
func keyOf(id string) string {
	if len(id) <= longestID {
		return id
	}
	return domain.DigestOf([]byte(id)).String()
}

// carried are the newest, as many as the next run gets.
func (m *Memory[Reply]) carried() []contract.AnsweredUpdate[Reply] {
	left := carriedReplies
	if m.room == rememberedSends {
		left = carriedSends
	}
	from := len(m.answered)
	for ; from > 0; from-- {
		encoded, err := json.Marshal(m.answered[from-1])
		if left -= len(encoded) + 1; err != nil || left < 0 {
			break
		}
	}
	return m.answered[from:]
}

// Took counts an update that was taken and asks for a change. It is under way until Answered is called.
func (m *Mailbox) Took() {
	m.Awaited()
	m.answering++
	m.spoken = m.now()
}

// Answered ends that.
func (m *Mailbox) Answered() { m.answering-- }

// Answering reports whether an update that asks for a change is under way.
func (m *Mailbox) Answering() bool { return m.answering > 0 }

// Awaited counts an update that was taken and only waits: nobody has spoken to the session.
func (m *Mailbox) Awaited() { m.taken++ }

// Full reports whether this run has taken about as many updates as the server
// lets one take.
func (m *Mailbox) Full() bool { return m.taken >= manyTaken }

// Pressed reports whether the server will soon take no more of them.
func (m *Mailbox) Pressed() bool { return m.taken >= mostTaken }

// Carry writes down what the next run needs of the mailbox.
func (m *Mailbox) Carry(to *contract.Carry) {
	to.Answered, to.Extended, to.Decided, to.Replied, to.Paused = m.Sent.carried(), m.Extended.carried(), m.Decided.carried(), m.Replied.carried(), m.paused
	to.Unsent, to.Waiting, to.MessagesWaited = m.Unsent.carried(), m.inbox.waiting, m.inbox.count
	to.Emptied, to.Suspended, to.Rewound = m.Emptied.carried(), m.suspended, m.Rewound.carried()
	to.Pauses, to.Suspensions, to.Redefined, to.Revoked = m.Pauses.carried(), m.Suspensions.carried(), m.Redefined.carried(), m.Revoked.carried()
	to.Totals = m.Totals.carried()
	to.SpokenSince = m.SpokenSince()
}
