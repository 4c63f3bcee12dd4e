package mailbox

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// An alarm goes off at a time, once, unless it is silenced before.
type alarm struct {
	// limit is the one of time that is over then; empty where the alarm makes a stop one of mode now.
	limit  domain.Limit
	at     time.Time
	timer  workflow.Future
	cancel workflow.CancelFunc
	// over says that the alarm has gone off or was silenced.
	over bool
}

// due reports whether the alarm wants to go off. Only silence ends the timer
// otherwise, so a timer that is over has run out.
func (a *alarm) due() bool { return !a.over && a.timer.IsReady() }

// silence ends the alarms of some limits and their timers, also those that have
// run out unheard.
func (t stopping) silence(limits ...domain.Limit) {
	for _, a := range t.alarms {
		if slices.Contains(limits, a.limit) {
			a.over = true
			a.cancel()
		}
	}
}

// CancelAlarms ends the timers of time limits and of stops, so that none outlives its execution or its run.
func (m *Mailbox) CancelAlarms() {
	m.stop.silence("", domain.LimitSeconds, domain.LimitDeadline)
	m.stop.alarms = nil
}

func (m *Mailbox) setAlarm(delay time.Duration, limit domain.Limit) {
	ctx, cancel := workflow.WithCancel(m.root)
	m.stop.alarms = append(m.stop.alarms, &alarm{limit: limit, at: m.now().Add(delay), timer: workflow.NewTimer(ctx, delay), cancel: cancel})
}

// goOff does what an alarm is for.
func (m *Mailbox) goOff(a *alarm) {
	if a.over = true; a.limit == "" {
		m.interrupt()
		return
	}
	use, _ := m.use(a.limit)
	m.timeOver(use.TimeOverSignal())
}

// WatchTime interrupts the execution when its time is over. It takes the place
// of what it did before, where a limit or the time that counts has changed. Time that is over
// already is found by the check before the next step.
func (m *Mailbox) WatchTime() {
	m.stop.silence(domain.LimitSeconds, domain.LimitDeadline)
	if m.ending {
		return
	}
	if use, ok := m.use(domain.LimitSeconds); ok && !use.Reached() && !m.waits() {
		m.setAlarm(time.Duration((use.Total.Seconds()-use.Used.Seconds())*float64(time.Second)), domain.LimitSeconds)
	}
	if use, ok := m.use(domain.LimitDeadline); ok && !use.Reached() {
		m.setAlarm(use.Total.Time().Sub(m.now()), domain.LimitDeadline)
	}
}

func (m *Mailbox) use(limit domain.Limit) (domain.LimitUse, bool) {
	return m.agent.State().Ledger(m.now()).Execution.UseOf(limit, m.now())
}

// CheckTime cuts off what is in flight where a new limit leaves it no time.
func (m *Mailbox) CheckTime() {
	for _, limit := range []domain.Limit{domain.LimitSeconds, domain.LimitDeadline} {
		if use, limited := m.use(limit); limited && use.Reached() {
			m.timeOver(use.ReachedSignal())
			return
		}
	}
}

func (m *Mailbox) timeOver(signal domain.StopSignal) {
	signal.Source = domain.SourceBudget
	m.agent.Signal(signal)
	m.interrupt()
}

// PausedSince is when the loop began to wait for the end of a pause; zero while something is under way.
func (m *Mailbox) PausedSince() time.Time { return m.waiting }

// waitWhilePaused waits while the execution is paused, unless something stops
// it. The time counts as time spent waiting for people.
func (m *Mailbox) waitWhilePaused() {
	if m.Stopped() || !m.Settings.Paused {
		return
	}
	m.waiting = m.now()
	m.countWaiting()
	m.WaitUntil(func() bool { return !m.Settings.Paused || m.stops() })
	m.waiting = time.Time{}
	m.countWaiting()
}

// WaitForPeople says that calls wait for people and nothing else is under way, or that
// this is over. The time between counts as waited.
func (m *Mailbox) WaitForPeople(on bool) {
	if m.asking != on {
		m.asking = on
		m.countWaiting()
	}
}

// waits reports whether the time counts as time spent waiting for people, or for an answer from above.
func (m *Mailbox) waits() bool { return m.asking || m.waitsForGrant || !m.waiting.IsZero() }

// countWaiting follows what is waited for. A pause within a wait changes nothing.
func (m *Mailbox) countWaiting() {
	on := m.waits()
	if m.agent.Wait(on); on {
		m.stop.silence(domain.LimitSeconds)
	} else {
		m.WatchTime()
	}
	m.reportWaits()
}
