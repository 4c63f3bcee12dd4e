package mailbox

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// childGrace bounds the wait for a sub-agent that was told to stop at once: its own activities, and then the store of
// records, have less. Each level of sub-agents below it has as much again, as it waits for those.
const childGrace = time.Minute

// Tend starts the workflow of a sub-agent and waits, in the coroutine of ctx, for its outcome. Every stop of the execution
// is handed on to it, in the same mode. No cancellation reaches it otherwise: it tells itself what came of it. Where it does
// not end in time after a stop of mode now it is cancelled, and given up. What it asks for the lender answers, until a stop is
// handed on: that ends its wait, and a refusal beside it could come first and be told as why it ended.
func (m *Mailbox) Tend(
	ctx workflow.Context, p Permit, options workflow.ChildWorkflowOptions, in *contract.SessionInput, lender Lender,
) (*contract.Outcome, error) {
	if p.scope.Err() != nil {
		return nil, domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the execution was stopped")
	}
	if err := domain.CheckFits("prompt and definition of the sub-agent", in, domain.MaxPayload); err != nil {
		return nil, err
	}
	call, waiting := in.Parent.Call(), false
	if in.Parent.Lends() {
		m.lending.lends(m.root, call)
		defer m.lending.over(call)
	}
	m.below.hears(m.root, call)
	defer func() {
		if m.below.over(call); waiting {
			lender.Held(false)
		}
	}()
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(m.root, options), string(contract.Execute), in)
	began := child.GetChildWorkflowExecution()
	told, overdue := contract.StopMode(""), func() bool { return false }
	stops := func() bool { return began.IsReady() && m.stop.mode != told }
	asks := func() bool { return began.IsReady() && told == "" && lender.Due() }
	waits := func() bool { return waiting != m.waitsBelow(call) }
	for {
		_ = workflow.Await(ctx, func() bool { return child.IsReady() || overdue() || stops() || asks() || waits() })
		switch {
		case child.IsReady():
			out := new(contract.Outcome)
			return out, child.Get(ctx, out)
		case overdue():
			workflow.RequestCancelExternalWorkflow(m.root, options.WorkflowID, "")
			return nil, domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "interrupted: the sub-agent was told to stop and did not end in time")
		case stops():
			told = m.stop.mode
			child.SignalChildWorkflow(m.root, string(contract.SignalStop), m.handedOn())
			if told == contract.StopNow {
				timing, cancel := workflow.WithCancel(m.root)
				defer cancel()
				levels := in.Parent.Levels(in.Definition)
				overdue = workflow.NewTimer(timing, childGrace*time.Duration(levels+1)).IsReady
			}
		case asks():
			if grant, ok := lender.Lend(ctx, child.IsReady); ok {
				m.lending.forget(call)
				child.SignalChildWorkflow(m.root, string(contract.SignalBudgetGrant), grant)
			}
		case waits():
			waiting = !waiting
			lender.Held(waiting)
		}
	}
}

// handedOn is the stop of the execution as a sub-agent gets it.
func (m *Mailbox) handedOn() contract.StopRequest {
	why := "the agent that started it was stopped"
	if signal, _ := m.agent.State().StopSignal(); signal.Message != "" {
		why += ": " + signal.Message
	}
	return contract.StopRequest{Mode: m.stop.mode, Reason: domain.Shorten(why, domain.MaxReason), Source: domain.SourceParent}
}
