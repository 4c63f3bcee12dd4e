package client

import (
	"context"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// stalledAfter is how long work may wait for a worker without a word.
const stalledAfter = 5 * time.Second

// The moments are what was told that only the server or the moment knows. They are used by one goroutine.
type moments struct {
	inference inferenceMoment
	// calls are those under way.
	calls map[domain.ToolExecutionID]callMoment
	// stalled is since when work has waited for a worker, looked when that was last not known; told that it was said.
	stalled time.Time
	looked  time.Time
	told    bool
	// trouble is what was told last of that, gone that the server was said to be away, withheld that a hook may rewrite answers.
	trouble  string
	gone     bool
	withheld bool
}

// An inferenceMoment is what has arrived of the inference under way, as far as it was shown.
type inferenceMoment struct {
	// open says that there is one, summary that it sums up the conversation, and attempt is the try of it that is known.
	open, summary bool
	step, attempt int
	// activity is the one whose heartbeats text and reasoning are of, and tries how often the server has tried that.
	activity string
	tries    int
	// done is the activity of the inference before, which may still be described.
	done            string
	text, reasoning liveText
}

func (i *inferenceMoment) end() {
	*i = inferenceMoment{done: i.activity, attempt: i.attempt}
}

type callMoment struct {
	step, position int
	progress       contract.Progress
}

// reached tells once that the server does not answer, and once that it does again.
func (m *moments) reached(answers bool) Event {
	if m.gone != answers {
		return Event{}
	}
	if m.gone = !answers; answers {
		return Event{Type: EventReconnected}
	}
	return Event{Type: EventReconnecting, Reason: "the server does not answer"}
}

// troubled tells once of what keeps the workflow from being carried on, or read.
func (m *moments) troubled(why string) Event {
	if m.trouble == why {
		return Event{}
	}
	m.trouble = why
	return Event{Type: EventTrouble, Reason: why}
}

// withdraw takes back what was shown of an attempt, where anything was.
func (m *moments) withdraw(why *domain.Error) []Event {
	i := &m.inference
	had := i.text.shown+i.reasoning.shown > 0
	i.text, i.reasoning = liveText{}, liveText{}
	if !had {
		return nil
	}
	return []Event{{Type: EventWithdrawn, Step: i.step, Attempt: i.attempt, Reason: messageOf(why)}}
}

func messageOf(err *domain.Error) string {
	if err == nil {
		return ""
	}
	return err.Message
}

// live returns what the description of a workflow adds to its account: live text, retries, and that no worker is up.
func (f *follower) live(ctx context.Context, s snapshot) (told []Event) {
	work := f.client.pending(s)
	for _, p := range work {
		switch {
		case p.Activity == string(contract.CallModel) && f.moment.inference.open && p.ID != f.moment.inference.done:
			told = append(told, f.inferring(p)...)
		case p.Activity == string(contract.CallTool) && p.Fresh && p.Heartbeat.Progress != nil:
			told = append(told, f.progress(p)...)
		case p.Activity == string(contract.ListTools) && p.Failure != nil && !p.Next.IsZero():
			told = append(told, f.moment.troubled(p.Failure.Message+standing(p)))
		case p.Activity == string(contract.ListTools) && p.Fresh && p.Heartbeat.Progress != nil:
			told = append(told, f.moment.troubled(p.Heartbeat.Progress.Text))
		}
	}
	return append(told, f.stall(ctx, s, work)...)
}

// inferring tells of the inference under way: that it is tried again, and what has arrived.
func (f *follower) inferring(p account.Pending) (told []Event) {
	i := &f.moment.inference
	step := i.step
	again := func() {
		told = append(told, f.moment.withdraw(p.Failure)...)
	}
	lost := i.activity != "" && i.activity != p.ID
	failed := p.Attempt > max(i.tries, 1) && p.Failure != nil
	if lost || failed {
		again()
		if failed {
			i.attempt += p.Attempt - max(i.tries, 1)
		}
		told = append(told, Event{Type: EventRetry, Step: step, Attempt: i.attempt, Reason: messageOf(p.Failure), Error: p.Failure})
	}
	i.activity, i.tries = p.ID, p.Attempt
	if !p.Fresh || p.Heartbeat.Step != step || i.summary || f.below || f.moment.withheld {
		return told
	}
	if p.Heartbeat.Attempt != i.attempt {
		again()
		i.attempt = p.Heartbeat.Attempt
	}
	if text, skipped := i.reasoning.take(p.Heartbeat.Reasoning, p.Heartbeat.ReasoningLength); text != "" {
		told = append(told, Event{Type: EventReasoning, Step: step, Attempt: i.attempt, Text: text, Skipped: skipped})
	}
	if text, skipped := i.text.take(p.Heartbeat.Tail, p.Heartbeat.Length); text != "" {
		told = append(told, Event{Type: EventText, Step: step, Attempt: i.attempt, Text: text, Skipped: skipped})
	}
	return told
}

// progress tells how far a call under way says that it is.
func (f *follower) progress(p account.Pending) []Event {
	call, open := f.moment.calls[p.Heartbeat.Call]
	if !open || call.progress == *p.Heartbeat.Progress {
		return nil
	}
	call.progress = *p.Heartbeat.Progress
	f.moment.calls[p.Heartbeat.Call] = call
	return []Event{{Type: EventToolProgress, Step: call.step, Tool: call.progress.Tool, Position: call.position, Text: call.progress.Text}}
}

// stall says, once until work goes on, that no worker takes what waits, and why. The wait may have begun just after the look
// before.
func (f *follower) stall(ctx context.Context, s snapshot, work []account.Pending) []Event {
	m, now := &f.moment, time.Now()
	looked := m.looked
	m.looked = now
	switch {
	case !s.open() || !stalls(s, work):
		m.stalled, m.told = time.Time{}, false
	case m.stalled.IsZero():
		if m.stalled = looked; looked.IsZero() {
			m.stalled = now
		}
	case now.Sub(m.stalled) >= stalledAfter && !m.told:
		m.told = true
		e := Event{Type: EventNoWorker, Reason: f.client.cfg.place(s.queue())}
		if waits := limited(work); len(waits) > 0 {
			e.Reason = unserved(waits[0])
			if f.client.served(ctx, waits[0].Limited) {
				e.Type, e.Reason = EventRateLimited, "it waits on task queue "+waits[0].Limited
			}
		}
		return []Event{e}
	}
	return nil
}

// stalls reports whether something waits for a worker and none is at work.
func stalls(s snapshot, work []account.Pending) bool {
	if s.GetPendingWorkflowTask().GetState() == enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED {
		return true
	}
	return !slices.ContainsFunc(work, func(w account.Pending) bool { return !w.Waiting }) &&
		slices.ContainsFunc(work, func(w account.Pending) bool { return w.Next.IsZero() })
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
