package contract

import (
	"everstep/domain"
	"everstep/domain/enum"
	"slices"
	"time"
)

// A Delivery says what becomes of a message that meets an execution in progress. An idle session begins its next
// execution with it, whatever it says.
type Delivery string

const (
	// RefuseIfBusy has it refused. It is the default.
	RefuseIfBusy Delivery = "refuse"
	// SteerIfBusy has it join the conversation before the next step. Where none follows it begins the session's next
	// execution; an agent without a name has none, and leaves it unread.
	SteerIfBusy Delivery = "steer"
	// QueueIfBusy has it begin an execution of its own, once those before it have ended.
	QueueIfBusy Delivery = "queue"
)

// UnmarshalText accepts the known ways, and reads the empty text as RefuseIfBusy.
func (d *Delivery) UnmarshalText(text []byte) error {
	return enum.DecodeOr(d, text, "if_busy", RefuseIfBusy, RefuseIfBusy, SteerIfBusy, QueueIfBusy)
}

// Waits reports whether a message waits for an execution in progress, and is not refused.
func (d Delivery) Waits() bool { return d == SteerIfBusy || d == QueueIfBusy }

// MaxWaitingMessages bounds the messages that wait for an agent. MaxWaitingBytes bounds what they take together when
// encoded, and MaxWaitingUnstored the same where no storage takes the conversation off what a run hands on.
const (
	MaxWaitingMessages = 100
	MaxWaitingBytes    = 1_000_000
	MaxWaitingUnstored = 200_000
)

// A WaitingMessage is one that has met an execution in progress and was not read yet.
type WaitingMessage struct {
	ID domain.MessageID `json:"message_id"`
	// Place counts the agent's messages that had to wait, from 1.
	Place   int64       `json:"place"`
	SentAt  time.Time   `json:"sent_at"`
	Request SendRequest `json:"request"`
}

// Steers reports whether it is to join the execution in progress; else it waits for one of its own.
func (w WaitingMessage) Steers() bool { return w.Request.IfBusy == SteerIfBusy }

// NextWaiting is the message that begins the next execution, of some that wait in the order in which they came: the
// first that an execution has left unheard, else the first that is to have one of its own.
func NextWaiting(waiting []WaitingMessage) WaitingMessage {
	return waiting[max(slices.IndexFunc(waiting, WaitingMessage.Steers), 0)]
}

// View is what a status shows of the message.
func (w WaitingMessage) View() WaitingView {
	text := domain.Shorten(w.Request.Prompt, 120)
	return WaitingView{
		ID: w.ID, Place: w.Place, SentAt: w.SentAt, Delivery: w.Request.IfBusy, Bytes: len(w.Request.Prompt),
		Text: text, Cut: len(text) < len(w.Request.Prompt), By: w.Request.By,
	}
}

// A WaitingView says which message waits, and since when.
type WaitingView struct {
	ID     domain.MessageID `json:"message_id"`
	Place  int64            `json:"place"`
	SentAt time.Time        `json:"sent_at"`
	// Delivery is steer or queue.
	Delivery Delivery `json:"if_busy"`
	// Bytes is the length of the message, and Text how it begins; Cut says that it goes on.
	Bytes int    `json:"bytes"`
	Text  string `json:"text"`
	Cut   bool   `json:"cut,omitzero"`
	// By is who has sent it.
	By domain.Program `json:"sent_by,omitzero"`
}

// An UnsendRequest takes a message back that was not read yet.
type UnsendRequest struct {
	// MessageID is the message's id, or as much of its beginning as no other has that waits; empty: the one that waits alone.
	MessageID string `json:"message_id,omitzero"`
}

// An UnsendReply says which message will not be read.
type UnsendReply struct {
	MessageID domain.MessageID `json:"message_id"`
	Delivery  Delivery         `json:"if_busy,omitzero"`
	// Left counts those that still wait.
	Left int `json:"left"`
}
