package client

import (
	"time"

	"everstep/domain"
)

// A liveAnswer is an inference's answer as far as heartbeats have told it.
type liveAnswer struct {
	// attempt is the try whose answer it is.
	attempt         int
	text, reasoning liveText
}

// withdraw forgets the answer, since another attempt begins, and reports
// whether any of it was shown.
func (l *liveAnswer) withdraw() bool {
	had := l.text.shown+l.reasoning.shown > 0
	l.text, l.reasoning = liveText{}, liveText{}
	return had
}

// A liveText is a text as far as it was shown.
type liveText struct {
	shown int
	// last is the end of what was shown.
	last string
}

// within returns how many bytes of a whole text were shown. It reports false
// where what was shown is not of that text.
func (l *liveText) within(whole string) (int, bool) {
	if l.shown == 0 {
		return 0, true
	}
	if l.shown <= len(whole) && whole[l.shown-len(l.last):l.shown] == l.last {
		return l.shown, true
	}
	return 0, false
}

// take returns what a heartbeat adds, by the end of the text and its length,
// and how much before it was missed.
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

// live returns what the description of pending work adds to the history: text
// and reasoning as they come, and failed attempts.
func (f *fold) live(pending []pendingWork, now time.Time) []Event {
	f.out, f.now = nil, now
	for _, p := range pending {
		for _, work := range f.work {
			if work.id != p.activityID || work.kind != p.kind {
				continue
			}
			f.retried(work, p.attempt, p.failure)
			if work.model != nil && p.fresh {
				f.beat(work, *p.beat)
			}
		}
	}
	return f.out
}

// beat shows the text and the reasoning of a heartbeat. Which came first nobody
// knows; mostly it was the reasoning.
func (f *fold) beat(work *activity, beat domain.Heartbeat) {
	l := &work.live
	if beat.Step != work.step || work.model.Summary != nil || f.rewriter != "" {
		return
	}
	if beat.Attempt != l.attempt {
		f.withdraw(work, nil)
		l.attempt = beat.Attempt
	}
	if text, skipped := l.reasoning.take(beat.Reasoning, beat.ReasoningLength); text != "" {
		f.emit(Event{Type: EventReasoning, Step: work.step, Attempt: l.attempt, Text: text, Skipped: skipped})
	}
	if text, skipped := l.text.take(beat.Tail, beat.Length); text != "" {
		f.emit(Event{Type: EventText, Step: work.step, Attempt: l.attempt, Text: text, Skipped: skipped})
	}
}

// withdraw takes back what was shown of an attempt, where anything was.
func (f *fold) withdraw(work *activity, why *domain.Error) {
	if work.live.withdraw() {
		f.emit(Event{Type: EventWithdrawn, Step: work.step, Attempt: work.live.attempt, Reason: reasonOf(why)})
	}
}

// withhold says, once an execution, that a hook keeps what the model says from
// being shown.
func (f *fold) withhold(step int) {
	if f.rewriter != "" && !f.withheld {
		f.withheld = true
		f.emit(Event{Type: EventWithheld, Step: step, Hook: f.rewriter})
	}
}

// working reports whether anything is expected to happen by itself.
func (f *fold) working() bool { return f.running }

// inferring reports whether an inference is pending.
func (f *fold) inferring() bool {
	for _, work := range f.work {
		if work.model != nil {
			return true
		}
	}
	return false
}
