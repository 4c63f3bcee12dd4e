package workflows

import (
	"slices"
	"strings"
	"time"

	"everstep/domain"
)

// A waiter is a call that waits for a person: for their word, or for their answer.
type waiter interface {
	comparable
	Pending() domain.PendingCall
	Waits() bool
	// bound is the digest of what people are shown.
	bound() domain.Digest
	// place counts the step's calls from 0.
	place() int
}

// waiters are the calls of the step in progress that wait for people, in call order. It alone holds what people have said,
// until the calls take it.
type waiters[W waiter] struct{ all []W }

func (w *waiters[W]) ask(one W) {
	after := slices.IndexFunc(w.all, func(other W) bool { return other.place() > one.place() })
	if after < 0 {
		after = len(w.all)
	}
	w.all = slices.Insert(w.all, after, one)
}

// over takes a call off the list, whatever has ended its wait.
func (w *waiters[W]) over(one W) {
	w.all = slices.DeleteFunc(w.all, func(other W) bool { return other == one })
}

// waiting are the calls about which nobody has said anything yet.
func (w *waiters[W]) waiting() []W {
	return slices.DeleteFunc(slices.Clone(w.all), func(one W) bool { return !one.Waits() })
}

// byID is the call of that id, also where a person has decided or answered it and it has not gone on yet, so that a second
// answer can be told that there was one. waiting and find pass over such calls.
func (w *waiters[W]) byID(id domain.ToolExecutionID) (one W, ok bool) {
	at := slices.IndexFunc(w.all, func(other W) bool { return other.Pending().ToolExecutionID == id })
	if at < 0 {
		return one, false
	}
	return w.all[at], true
}

// find is the call that a person means, who does what it says, such as approve. Without an id it is the only one that
// waits, and none is why there is none. A digest has to be that of what the person was shown.
func (w *waiters[W]) find(does string, id domain.ToolExecutionID, digest domain.Digest, none func() error) (one W, _ error) {
	waiting := w.waiting()
	at := slices.IndexFunc(waiting, func(other W) bool { return other.Pending().ToolExecutionID == id })
	switch {
	case id.IsZero() && len(waiting) == 1:
		at = 0
	case id.IsZero() && len(waiting) > 1:
		return one, domain.Errorf(domain.Denied, "%s: %d calls wait for that; name one of them: %s", does, len(waiting), named(waiting))
	case at < 0:
		return one, none()
	}
	if found := waiting[at]; digest.IsZero() || digest == found.bound() {
		return found, nil
	}
	return one, domain.Errorf(domain.Denied, "%s: call %s waits with something else than you have seen; look at it again", does, waiting[at].Pending().ToolExecutionID)
}

func named[W waiter](waiting []W) string {
	const most = 5
	var names []string
	for _, one := range waiting[:min(len(waiting), most)] {
		call := one.Pending()
		names = append(names, call.ToolExecutionID.String()+" ("+domain.Shorten(call.Tool, 64)+")")
	}
	if len(waiting) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// inTime refuses a person's word after the time for it. Where no worker was up as that went by, the word is looked at before
// the end of the wait. Only those look who take no word on replay.
func (s session) inTime(does string, call domain.PendingCall, until time.Time) error {
	if until.IsZero() || s.now().Before(until) {
		return nil
	}
	return domain.Errorf(domain.Denied, "%s: the time for call %s was over at %s", does, call.ToolExecutionID, until.UTC().Format(time.RFC3339))
}

// pendingApprovals are the calls about which people are asked.
func (s session) pendingApprovals() []domain.PendingApproval {
	pending := []domain.PendingApproval{}
	for _, call := range s.approvals.waiting() {
		pending = append(pending, call.PendingApproval)
	}
	return pending
}

// pendingQuestions are what calls ask people.
func (s session) pendingQuestions() []domain.PendingQuestion {
	pending := []domain.PendingQuestion{}
	for _, question := range s.questions.waiting() {
		pending = append(pending, question.PendingQuestion)
	}
	return pending
}
