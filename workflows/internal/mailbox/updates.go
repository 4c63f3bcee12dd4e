package mailbox

import (
	"time"

	"everstep/domain/contract"
)

// Updates are those that a run takes, and what they were answered.
type Updates struct {
	answers contract.Answers
	// taken counts all of them, answering those under way that ask for a change.
	taken, answering int
	// spoken is when the newest was taken that asks for a change.
	spoken time.Time
}

// manyTaken and mostTaken are of the updates of one run; the server takes 2,000, and counts those under way that will
// be refused, of which there may be a hundred.
const manyTaken, mostTaken = 1800, 1850

// Repeats reports whether an update was answered before, in this run or an earlier one, and decodes the answer into reply.
func (u *Updates) Repeats(name, id string, reply any) bool { return u.answers.Read(name, id, reply) }

// Take counts an update that asks for a change. It is under way until End is called.
func (u *Updates) Take(now time.Time) {
	u.TakeWait()
	u.answering++
	u.spoken = now
}

// Spoken is when people last spoke to the session: when the newest update that asks for a change was taken. Zero: nobody has.
func (u *Updates) Spoken() time.Time { return u.spoken }

// TakeWait counts an update that only waits: nobody has spoken to the session.
func (u *Updates) TakeWait() { u.taken++ }

// End is told that an update is no longer under way.
func (u *Updates) End() { u.answering-- }

// Remember keeps what an update was answered.
func (u *Updates) Remember(name, id string, reply any) { u.answers = u.answers.With(name, id, reply) }

// Answering reports whether an update that asks for a change is under way.
func (u *Updates) Answering() bool { return u.answering > 0 }

// Full reports whether this run has taken about as many updates as the server lets one take.
func (u *Updates) Full() bool { return u.taken >= manyTaken }

// Pressed reports whether the server will soon take no more of them.
func (u *Updates) Pressed() bool { return u.taken >= mostTaken }
