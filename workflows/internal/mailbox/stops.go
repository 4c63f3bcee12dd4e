package mailbox

import (
	"slices"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"everstep/domain/contract"
)

// stopping is what stops do to the work of one execution. What they do to its
// loop is the state's signals.
type stopping struct {
	// mode is the strongest asked for; empty where no stop came.
	mode contract.StopMode
	// alarms go off in this execution, unless it ends first.
	alarms []*alarm
}

func (t stopping) noTools() bool {
	return t.mode == contract.StopNow || t.mode == contract.AfterInference
}

// Stopped reports whether anything that has arrived, or a signal of the
// execution's own, stops the loop before its next step.
func (m *Mailbox) Stopped() bool {
	m.DrainSignals()
	return m.stops()
}

func (m *Mailbox) stops() bool { return m.agent.State().Continuation().Stops() }

// Asked reports whether somebody has asked to stop, in whatever mode, or a time limit is over, as far as stops are drained.
func (m *Mailbox) Asked() bool { return m.stop.mode != "" }

// Stopping reports whether somebody has asked to stop, as far as stops are drained, and something may finish before.
func (m *Mailbox) Stopping() bool { return m.Asked() && m.stop.mode != contract.StopNow }

// CutOff reports whether a stop of mode now has arrived: nothing may be in
// flight any more.
func (m *Mailbox) CutOff() bool {
	m.DrainSignals()
	return m.stop.mode == contract.StopNow
}

// NoTools reports whether a stop has arrived after which no tool call may start.
func (m *Mailbox) NoTools() bool {
	m.DrainSignals()
	return m.stop.noTools()
}

// disturbed reports whether something has arrived that was not drained.
func (m *Mailbox) disturbed() bool {
	return m.cancelled() || m.signals.Len() > 0 || slices.ContainsFunc(m.stop.alarms, (*alarm).due)
}

// DrainSignals takes all that has arrived to stop the work.
func (m *Mailbox) DrainSignals() {
	if m.cancelled() {
		m.door = cut
		m.wake()
		m.take(contract.ServerStop())
	}
	for m.signals.Len() > 0 {
		var raw converter.RawValue
		m.signals.ReceiveAsync(&raw)
		m.take(contract.ReadStop(raw.Payload().GetData()))
	}
	for _, a := range m.stop.alarms {
		if a.due() {
			m.goOff(a)
		}
	}
}

// take applies a stop to the execution in progress. One that meets an idle
// session, or names another execution, is dropped and logged.
func (m *Mailbox) take(request contract.StopRequest) {
	state := m.agent.State()
	if !state.HasActiveExecution() || !request.ExecutionID.IsZero() && request.ExecutionID != state.Execution.ID {
		workflow.GetLogger(m.root).Info("stop dropped: what it is meant for is not in progress", "execution_id", request.ExecutionID)
		return
	}
	m.agent.Signal(request.Signal())
	m.stop.mode = m.stop.mode.Stronger(request.Mode)
	if _, within := state.CurrentStepStartedAt(); m.stop.mode == contract.StopNow || !within {
		// Between steps there is nothing that a gentler stop would let finish.
		m.cancel()
		return
	}
	if within, ok := request.Escalation(); ok {
		m.escalate(within)
	}
}

// ObserveCancellation stops the execution that has just begun where the workflow was cancelled before: somebody was told that
// it begins, so it tells how it ended.
func (m *Mailbox) ObserveCancellation() {
	if m.door == cut {
		m.take(contract.ServerStop())
	}
}

// escalate makes the stop one of mode now after a time. Of several times the
// earliest counts.
func (m *Mailbox) escalate(within time.Duration) {
	at := m.now().Add(within)
	if slices.ContainsFunc(m.stop.alarms, func(a *alarm) bool { return a.limit == "" && !at.Before(a.at) }) {
		return
	}
	m.stop.silence("")
	m.setAlarm(within, "")
}

func (m *Mailbox) interrupt() {
	m.stop.mode = contract.StopNow
	m.cancel()
}
