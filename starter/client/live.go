package client

import (
	"time"

	"everstep/domain"
)

// A liveText is the text of an inference as far as heartbeats have told it.
type liveText struct {
	// attempt is the try whose text it is.
	attempt int
	shown   int
	// last is the end of what was shown.
	last string
}

// withdraw forgets the text, since another attempt begins, and reports whether
// there was any.
func (l *liveText) withdraw() bool {
	had := l.shown > 0
	l.shown, l.last = 0, ""
	return had
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

// take returns what a heartbeat adds, and how much before it was missed.
func (l *liveText) take(beat domain.Heartbeat) (text string, skipped int) {
	fresh := beat.Length - l.shown
	if fresh <= 0 || beat.Tail == "" {
		return "", 0
	}
	text = beat.Tail
	if fresh <= len(text) {
		text = text[len(text)-fresh:]
	} else {
		skipped = fresh - len(text)
	}
	l.shown, l.last = beat.Length, text
	return text, skipped
}

// live returns what the description of pending work adds to the history: text
// as it comes, and failed attempts.
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

// beat shows the text of a heartbeat.
func (f *fold) beat(work *activity, beat domain.Heartbeat) {
	l := &work.live
	if beat.Step != work.step || work.model.Summary != nil {
		return
	}
	if beat.Attempt != l.attempt {
		if l.withdraw() {
			f.emit(Event{Type: EventWithdrawn, Step: work.step})
		}
		l.attempt = beat.Attempt
	}
	if text, skipped := l.take(beat); text != "" {
		f.emit(Event{Type: EventText, Step: work.step, Text: text, Skipped: skipped})
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
