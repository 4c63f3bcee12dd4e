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

// watchTime interrupts the execution when its time is over.
func (s *session) watchTime() {
	budget, now := s.budget(), s.now()
	started, _ := s.state.ExecutionStartedAt()
	if limit := budget.MaxSeconds; limit != nil {
		left := time.Duration(*limit*float64(time.Second)) - now.Sub(started)
		s.interruptAfter(left, "max_seconds is reached")
	}
	if limit := budget.Deadline; limit != nil {
		s.interruptAfter(limit.Sub(now), "the deadline has passed")
	}
}

// interruptAfter ends the execution by its time limit. Time that is over
// already is found by the check before the next step.
func (s *session) interruptAfter(left time.Duration, message string) {
	if left <= 0 {
		return
	}
	s.after(left, func() {
		s.signal(domain.TimeLimitReached, "budget", message)
		s.stop.mode = domain.StopNow
		s.cancelWork()
	})
}
