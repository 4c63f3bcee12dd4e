package progress

import (
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// An Unsent says that a message that waited was taken back.
type Unsent struct{ MessageID domain.MessageID }

// sent notes that a message has begun an execution, or waits.
func (a Agent) sent(f Sent, at time.Time) Agent {
	if !f.Reply.Waits.IsZero() {
		return a.held(f, at)
	}
	if !f.Reply.Began || f.Reply.Number < 1 {
		return a
	}
	if a = a.begins(f.Reply.Number, at); a.Execution.Number == f.Reply.Number && f.Request != nil {
		a.Execution.Budget, a.Execution.Prior = new(contract.BudgetOf(a.Definition, f.Request.Budget, nil)), &domain.Spent{}
		if f.Request.Model != nil {
			a.Model = f.Request.Model.String()
		}
		a.Execution.Given = givenOf(f.Request.Given)
		if f.Request.Given != nil {
			a.Execution.Trusted = joined(a.trusted, f.Request.Given.Trusted)
		}
	}
	return a
}

// held notes that a message waits for the execution in progress.
func (a Agent) held(f Sent, at time.Time) Agent {
	w := contract.WaitingMessage{ID: f.Reply.Waits, Place: f.Reply.Place, SentAt: at}
	if f.Request != nil {
		w.Request = *f.Request
	}
	// What is recorded later in a task may tell first that it was read.
	if w.Place > a.Execution.heard {
		a.Waiting = append(slices.Clip(a.Waiting), w)
	} else {
		a.Execution.Messages++
	}
	return a
}

// unsent notes that a message was taken back.
func (a Agent) unsent(id domain.MessageID) Agent {
	a.Waiting = slices.DeleteFunc(slices.Clone(a.Waiting), func(w contract.WaitingMessage) bool { return w.ID == id })
	return a
}

// hears notes that the messages up to a place have joined the execution in progress.
func (a Agent) hears(place int64) Agent {
	if place <= a.Execution.heard {
		return a
	}
	a.Execution.heard = place
	return a.reads(func(w contract.WaitingMessage) bool { return w.Steers() && w.Place <= place })
}

// leaves notes how many messages an execution has left unread at its end: others have joined it, though no inference says so.
func (a Agent) leaves(unread int) Agent {
	more := len(a.Waiting) - unread
	return a.reads(func(w contract.WaitingMessage) bool {
		more--
		return w.Steers() && more >= 0
	})
}

func (a Agent) reads(read func(contract.WaitingMessage) bool) Agent {
	before := len(a.Waiting)
	a.Waiting = slices.DeleteFunc(slices.Clone(a.Waiting), read)
	a.Execution.Messages += before - len(a.Waiting)
	return a
}

// beginsWaiting begins an execution of which no answer to an update tells: a message that waited begins it.
func (a Agent) beginsWaiting(number int, at time.Time) Agent {
	if number <= a.Execution.Number || len(a.Waiting) == 0 {
		return a.begins(number, at)
	}
	first := contract.NextWaiting(a.Waiting)
	a = a.unsent(first.ID)
	return a.sent(Sent{Request: &first.Request, Reply: contract.SendReply{Began: true, Number: number}}, at)
}
