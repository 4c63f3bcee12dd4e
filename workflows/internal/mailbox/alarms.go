package mailbox

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/progress"
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
	if a != nil {
		a.do = nil
		a.cancel()
	}
}

// due reports whether an alarm wants to go off.
func (t stopping) due() bool { return slices.ContainsFunc(t.alarms, (*alarm).due) }

// Disarm ends all timers, so that none outlives its execution.
func (m *Mailbox) Disarm() {
	for _, a := range m.stop.alarms {
		a.silence()
	}
	m.stop.alarms, m.stop.escalation, m.stop.seconds, m.stop.deadline = nil, nil, nil, nil
}

// after does something later, unless the execution ends first. Its timer is
// cancelled with the execution, so none is left behind.
func (m *Mailbox) after(delay time.Duration, do func()) *alarm {
	ctx, cancel := workflow.WithCancel(m.root)
	a := &alarm{at: m.now().Add(delay), timer: workflow.NewTimer(ctx, delay), cancel: cancel, do: do}
	m.stop.alarms = append(m.stop.alarms, a)
	return a
}

// WatchTime interrupts the execution when its time is over. It takes the place
// of what it did before, where a limit or the time that counts has changed.
func (m *Mailbox) WatchTime() {
	m.stop.seconds.silence()
	m.stop.deadline.silence()
	m.stop.seconds, m.stop.deadline = nil, nil
	if m.ending {
		return
	}
	budget, _ := m.agent.State().Budget()
	if use, ok := budget.UseOf(domain.LimitSeconds, m.agent.Spent(), m.now()); ok && m.pause.since.IsZero() {
		left := time.Duration((use.Total.Seconds() - use.Used.Seconds()) * float64(time.Second))
		m.stop.seconds = m.interruptAfter(left, domain.LimitSeconds)
	}
	if use, ok := budget.UseOf(domain.LimitDeadline, m.agent.Spent(), m.now()); ok {
		m.stop.deadline = m.interruptAfter(use.Total.Time().Sub(m.now()), domain.LimitDeadline)
	}
}

// interruptAfter ends the execution by its time limit. Time that is over
// already is found by the check before the next step.
func (m *Mailbox) interruptAfter(left time.Duration, limit domain.Limit) *alarm {
	if left <= 0 {
		return nil
	}
	return m.after(left, func() {
		budget, _ := m.agent.State().Budget()
		use, _ := budget.UseOf(limit, m.agent.Spent(), m.now())
		m.timeOver(use.TimeOverSignal())
	})
}

// CheckTime cuts off what is in flight where a new limit leaves it no time at
// all.
func (m *Mailbox) CheckTime() {
	budget, _ := m.agent.State().Budget()
	times := domain.ExecutionBudget{MaxSeconds: budget.MaxSeconds, Deadline: budget.Deadline}
	if use, over := times.Reached(m.agent.Spent(), m.now()); over {
		m.timeOver(use.ReachedSignal())
	}
}

// timeOver ends the execution by its time limit, and cuts off what is in flight.
func (m *Mailbox) timeOver(signal domain.StopSignal) {
	signal.Source = progress.SourceBudget
	m.agent.Signal(signal)
	m.interrupt()
}

// pausing lets nothing new start: no inference and no tool call.
type pausing struct {
	on bool
	// since is when the loop began to wait; zero while something is under way.
	since time.Time
}

// Pause lets nothing new start, or ends that. It reports whether it was
// otherwise before.
func (m *Mailbox) Pause(on bool) bool {
	changed := m.pause.on != on
	m.pause.on = on
	return changed
}

// Paused reports whether nothing new may start; since is when the loop began to
// wait for it, zero while something is under way.
func (m *Mailbox) Paused() (since time.Time, on bool) { return m.pause.since, m.pause.on }

// waitWhilePaused waits while the execution is paused, unless something stops
// it. The time counts as time spent waiting for people.
func (m *Mailbox) waitWhilePaused() {
	if m.Stopped() || !m.pause.on {
		return
	}
	m.pause.since = m.now()
	m.agent.Wait(true)
	m.stop.seconds.silence()
	m.stop.seconds = nil
	for m.pause.on && !m.Stopped() {
		_ = workflow.Await(m.root, m.released)
		m.DrainSignals()
	}
	m.pause.since = time.Time{}
	m.agent.Wait(false)
	m.WatchTime()
}

// released reports whether a pause may be over: it was ended, or something has
// arrived or counts already.
func (m *Mailbox) released() bool {
	return !m.pause.on || m.disturbed() || m.agent.State().Continuation().Stops()
}
