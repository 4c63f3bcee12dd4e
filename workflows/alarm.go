package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// An alarm does something at a time, once, unless it is silenced before.
type alarm struct {
	at     time.Time
	timer  workflow.Future
	cancel workflow.CancelFunc
	// do is nil where the alarm has gone off or was silenced.
	do func()
}

// due reports whether the alarm wants to go off. Only silence ends the timer
// otherwise, so a timer that is over has run out.
func (a *alarm) due() bool { return a.do != nil && a.timer.IsReady() }

func (a *alarm) ring() {
	do := a.do
	a.do = nil
	do()
}

// silence ends the alarm and its timer, also one that has run out unheard.
func (a *alarm) silence() {
	a.do = nil
	a.cancel()
}

// due reports whether an alarm wants to go off.
func (t stopping) due() bool { return slices.ContainsFunc(t.alarms, (*alarm).due) }

// after does something later, unless the execution ends first. Its timer is
// cancelled with the execution, so none is left behind.
func (s *session) after(delay time.Duration, do func()) *alarm {
	ctx, cancel := workflow.WithCancel(s.root)
	a := &alarm{at: s.now().Add(delay), timer: workflow.NewTimer(ctx, delay), cancel: cancel, do: do}
	s.stop.alarms = append(s.stop.alarms, a)
	return a
}

// watchTime interrupts the execution when its time is over. It takes the place
// of what it did before, where a limit or the time that counts has changed.
func (s *session) watchTime() {
	s.stop.silenceTime()
	if s.finishing {
		return
	}
	if use, ok := s.useOf(domain.LimitSeconds); ok && s.pause.since.IsZero() {
		left := time.Duration((use.Total.Seconds() - use.Used.Seconds()) * float64(time.Second))
		s.stop.seconds = s.interruptAfter(left, domain.LimitSeconds)
	}
	if use, ok := s.useOf(domain.LimitDeadline); ok {
		s.stop.deadline = s.interruptAfter(use.Total.Time().Sub(s.now()), domain.LimitDeadline)
	}
}

// useOf is what was used of one limit of the execution.
func (s *session) useOf(limit domain.Limit) (domain.LimitUse, bool) {
	return s.budget().UseOf(limit, s.spent(), s.now())
}

// silenceSeconds ends the alarm of max_seconds, whose time stands still.
func (t *stopping) silenceSeconds() {
	if t.seconds != nil {
		t.seconds.silence()
		t.seconds = nil
	}
}

// silenceTime ends the alarms of both time limits.
func (t *stopping) silenceTime() {
	t.silenceSeconds()
	if t.deadline != nil {
		t.deadline.silence()
		t.deadline = nil
	}
}

// sameTime reports whether two budgets have the same time limits.
func sameTime(a, b domain.ExecutionBudget) bool {
	same := a.MaxSeconds == b.MaxSeconds || a.MaxSeconds != nil && b.MaxSeconds != nil && *a.MaxSeconds == *b.MaxSeconds
	return same && (a.Deadline == b.Deadline || a.Deadline != nil && b.Deadline != nil && a.Deadline.Equal(*b.Deadline))
}

// interruptAfter ends the execution by its time limit. Time that is over
// already is found by the check before the next step.
func (s *session) interruptAfter(left time.Duration, limit domain.Limit) *alarm {
	if left <= 0 {
		return nil
	}
	return s.after(left, func() {
		use, _ := s.useOf(limit)
		s.timeOver(use.TimeOverSignal())
	})
}

// timeOver cuts off what is in flight.
func (s *session) timeOver(signal domain.StopSignal) {
	s.limited(signal)
	s.stop.mode = domain.StopNow
	s.cancelWork()
}

// overtime cuts off what is in flight where a new limit leaves it no time at all.
func (s *session) overtime() {
	times := domain.ExecutionBudget{MaxSeconds: s.budget().MaxSeconds, Deadline: s.budget().Deadline}
	if use, over := times.Reached(s.spent(), s.now()); over {
		s.timeOver(use.ReachedSignal())
	}
}
