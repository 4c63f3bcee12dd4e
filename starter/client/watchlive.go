package client

import (
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

// live returns what the description of pending work adds to the history.
func (r *watchReducer) live(pending []history.Pending, now time.Time) []Event {
	r.out, r.now = nil, now
	for _, p := range pending {
		work := r.shown[p.ID]
		if work == nil || work.Activity != p.Activity {
			continue
		}
		r.retried(work, p.Attempt, p.Before)
		if work.Model != nil && p.Fresh {
			r.beat(work, *p.Beat)
		}
		if work.Tool != nil && p.Fresh && p.Beat.Progress != nil && work.progress != *p.Beat.Progress {
			work.progress = *p.Beat.Progress
			r.emit(Event{Type: EventToolProgress, Step: work.Step(), Position: work.Tool.Position, Tool: work.progress.Tool, Text: work.progress.Text})
		}
	}
	return r.out
}

// beat shows a heartbeat. Which text came first nobody knows; mostly it was the reasoning.
func (r *watchReducer) beat(work *shownWork, beat contract.Heartbeat) {
	if beat.Step != work.Step() || work.Model.Summary != nil || r.agent.Rewriter() != "" {
		return
	}
	if beat.Attempt != work.try {
		r.withdraw(work, nil)
		work.try = beat.Attempt
	}
	if text, skipped := work.reasoning.take(beat.Reasoning, beat.ReasoningLength); text != "" {
		r.emit(Event{Type: EventReasoning, Step: work.Step(), Attempt: work.try, Text: text, Skipped: skipped})
	}
	if text, skipped := work.text.take(beat.Tail, beat.Length); text != "" {
		r.emit(Event{Type: EventText, Step: work.Step(), Attempt: work.try, Text: text, Skipped: skipped})
	}
}

// withdraw takes back what was shown of an attempt, where anything was.
func (r *watchReducer) withdraw(work *shownWork, why *domain.Error) {
	had := work.text.shown+work.reasoning.shown > 0
	work.text, work.reasoning = liveText{}, liveText{}
	if had {
		r.emit(Event{Type: EventWithdrawn, Step: work.Step(), Attempt: work.try, Reason: messageOf(why)})
	}
}

// A liveText is a text as far as it was shown.
type liveText struct {
	shown int
	// last is the end of what was shown.
	last string
}

// within is how many bytes of a whole text were shown; false: what was shown is not of it.
func (l *liveText) within(whole string) (int, bool) {
	if l.shown == 0 {
		return 0, true
	}
	if l.shown <= len(whole) && whole[l.shown-len(l.last):l.shown] == l.last {
		return l.shown, true
	}
	return 0, false
}

// take returns what a heartbeat adds, and how much before it was missed.
func (l *liveText) take(end string, length int) (text string, skipped int) {
	fresh := length - l.shown
	if fresh <= 0 || end == "" {
		return "", 0
	}
	text = end
	if fresh <= len(text) {
		text = text[len(text)-fresh:]
	} else {
		skipped = fresh - len(text)
	}
	l.shown, l.last = length, text
	return text, skipped
}
