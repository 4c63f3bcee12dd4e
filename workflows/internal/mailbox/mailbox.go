// Package mailbox is what reaches an agent's workflow while it runs: stops,
// alarms, pauses, messages and the updates that were answered.
//
// Its one rule: nothing starts after a stop. Whoever wants to start something asks
// for a [Admit], which cannot be had once a stop counts that forbids it, and an
// activity can be scheduled with an admission only. Start reading at admission.go.
package mailbox

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// An Agent is whose mail it is.
type Agent interface {
	State() domain.AgentState
	// Signal adds a reason to stop.
	Signal(signal domain.StopSignal)
	// Wait says that the execution begins to wait for people, or goes on. The
	// time between counts as waited.
	Wait(on bool)
}

// A Mailbox takes what arrives, for the life of one run. It alone decides what
// may start. All of it follows from the run's input and history.
type Mailbox struct {
	// Updates are those that the run takes.
	Updates Updates
	// Settings are what people have set, which the commands change. The next run begins with them.
	Settings contract.Settings

	agent Agent
	// root outlives a cancellation of the workflow, which is taken as a stop.
	root workflow.Context
	// scope is that of what is in flight; cancel ends it, which is a stop now.
	scope  workflow.Context
	cancel workflow.CancelFunc
	under  *underWay

	signals workflow.ReceiveChannel
	// cancelled reports whether the workflow was cancelled.
	cancelled func() bool
	// heard is told when something was drained while the loop waited.
	heard func()
	door  door
	next  *NextExecution
	inbox inbox
	stop  stopping
	// waiting is since when the loop waits for the end of a pause; zero while something is under way.
	waiting time.Time
	// asking says that calls wait for people, and nothing else is under way.
	asking bool
	// waitsForGrant says that the agent waits for an answer from above, and nothing else is under way.
	waitsForGrant bool
	reports       reports
	above         above
	// ending says that the loop is over, and the execution not quite.
	ending bool
}

// A door says whether further executions may begin.
type door int

const (
	open door = iota
	closed
	// cut is closed by a cancellation of the workflow, which counts once.
	cut
)

// A NextExecution is what the next execution starts from: a message, or the one before where it goes on.
type NextExecution struct {
	contract.SendRequest
	// GoesOn says that it goes on from the one before, without a prompt and
	// with this budget and no other.
	GoesOn bool
	// Starter says who begins it, where that is not who has sent the message.
	Starter domain.Starter
	// Waited is the message that begins it, where that had to wait.
	Waited *contract.WaitingMessage
}

// New returns the mailbox of an agent, with what an earlier run handed on.
func New(root workflow.Context, agent Agent, carry contract.CarriedMail) *Mailbox {
	m := &Mailbox{
		Updates: Updates{answers: carry.Answers, spoken: carry.SpokenSince},
		agent:   agent, root: root, Settings: carry.Settings,
		inbox: inbox{waiting: carry.Waiting, count: carry.Waited}, above: above{seq: carry.Reported},
	}
	m.renew()
	return m
}

// renew begins a scope of what is in flight.
func (m *Mailbox) renew() {
	scope, cancel := workflow.WithCancel(m.root)
	under := &underWay{}
	m.scope, m.under, m.cancel = scope, under, func() {
		under.cutOff()
		cancel()
	}
}

// Listen takes stop signals, alarms and a cancellation of the workflow from now on, for the life of the run. What arrives stays
// where it is until it is drained: by whoever asks what it may do, and by whoever waits, who then tells heard. A coroutine that
// did nothing else would be woken in every workflow task.
func (m *Mailbox) Listen(ctx workflow.Context, heard func()) {
	m.signals = workflow.GetSignalChannel(m.root, string(contract.SignalStop))
	m.cancelled = func() bool { return m.door != cut && ctx.Err() != nil }
	m.heard = heard
}

// WaitUntil waits in the run's own coroutine until a condition holds. Every wait of that coroutine goes through it: else a stop
// would wait too.
func (m *Mailbox) WaitUntil(condition func() bool) { m.wait(m.root, condition) }

// wait is WaitUntil in the coroutine of a context, whose end ends it too. Of what one workflow task brings, it learns what it waits for
// before what stops it.
func (m *Mailbox) wait(ctx workflow.Context, condition func() bool) {
	for !condition() {
		if m.disturbed() {
			m.DrainSignals()
			m.heard()
		} else if workflow.Await(ctx, func() bool { return condition() || m.disturbed() }) != nil {
			return
		}
	}
}

// Begin opens an execution: nothing has stopped it yet.
func (m *Mailbox) Begin() {
	m.renew()
	m.stop, m.ending, m.inbox.heard = stopping{}, false, 0
}

// Finish lets nothing of the loop start any more. What is in flight is over or
// cut off, and no timer outlives the execution.
func (m *Mailbox) Finish() {
	m.ending = true
	m.CancelAlarms()
	m.cancel()
}

// End closes the execution, and with it its pause.
func (m *Mailbox) End() { m.ending, m.Settings.Paused = false, false }

// Ending reports whether the loop is over, and the execution not quite.
func (m *Mailbox) Ending() bool { return m.ending }

// Post leaves what the next execution starts from.
func (m *Mailbox) Post(next NextExecution) {
	m.next = &next
	m.wake()
}

// HandOver is what the next run needs of the mailbox.
func (m *Mailbox) HandOver() contract.CarriedMail {
	return contract.CarriedMail{
		Answers: m.Updates.answers, Settings: m.Settings, SpokenSince: m.Updates.spoken,
		Waiting: m.inbox.waiting, Waited: m.inbox.count, Reported: m.above.seq,
	}
}

// Posted reports whether an execution waits to begin.
func (m *Mailbox) Posted() bool { return m.next != nil }

// Take returns what the next execution starts from, which waits no longer.
func (m *Mailbox) Take() NextExecution {
	next := *m.next
	m.next = nil
	return next
}

// Close lets no further execution begin.
func (m *Mailbox) Close() {
	m.door = max(m.door, closed)
	m.wake()
}

// Closed reports whether no further execution may begin.
func (m *Mailbox) Closed() bool { return m.door != open }

// Woken reports whether an idle session has something to do: to begin or to close.
func (m *Mailbox) Woken() bool { return m.Posted() || m.Closed() || m.Ready() }

// wake cuts off what an idle session may be at: writing its transcript away.
func (m *Mailbox) wake() {
	if !m.agent.State().HasActiveExecution() {
		m.cancel()
	}
}

func (m *Mailbox) now() time.Time { return workflow.Now(m.root).UTC() }
