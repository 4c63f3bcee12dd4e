package mailbox

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Granter is the agent as one of its sub-agents has it: who answers what that asks for.
type Granter interface {
	// Due reports whether what the sub-agent asks for is to be looked at.
	Due() bool
	// Grant answers it, in the coroutine of the call. It answers false where the request waits on, and where the sub-agent
	// is over meanwhile.
	Grant(ctx workflow.Context, over func() bool) (contract.Grant, bool)
	// Hold says that the sub-agent waits for people or for an answer, or goes on; Holds is what was said last.
	Hold(on bool)
	Holds() bool
}

// childGrace bounds the wait for a sub-agent that was told to stop at once: its own activities, and then the store of
// records, have less. Each level of sub-agents below it has as much again, as it waits for those.
const childGrace = time.Minute

// RunSubagent starts the workflow of a sub-agent and waits, in the coroutine of ctx, for its outcome. Every stop of the execution
// is handed on to it, in the same mode. No cancellation reaches it otherwise: it tells itself what came of it. Where it does
// not end in time after a stop of mode now it is cancelled, and given up. What it asks for the granter answers, until a stop is
// handed on: that ends its wait, and a refusal beside it could come first and be told as why it ended.
func (m *Mailbox) RunSubagent(
	ctx workflow.Context, p Admission, options workflow.ChildWorkflowOptions, in *contract.SessionInput, granter Granter,
) (*contract.Outcome, error) {
	if p.scope.Err() != nil {
		return nil, domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the execution was stopped")
	}
	if err := domain.CheckFits("prompt and definition of the sub-agent", in, domain.MaxPayload); err != nil {
		return nil, err
	}
	call := in.Parent.Call()
	m.reports.expect(m.root, call)
	defer func() {
		m.reports.over(call)
		granter.Hold(false)
	}()
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(m.root, options), string(contract.Execute), in)
	began := child.GetChildWorkflowExecution()
	sent, overdue := contract.StopMode(""), func() bool { return false }
	stops := func() bool { return began.IsReady() && m.stop.mode != sent }
	asks := func() bool { return began.IsReady() && sent == "" && granter.Due() }
	waits := func() bool {
		own := m.reports.of(call)
		return own.Waits || own.Ask != nil
	}
	for {
		m.wait(ctx, func() bool {
			return child.IsReady() || overdue() || stops() || asks() || waits() != granter.Holds()
		})
		switch {
		case child.IsReady():
			out := new(contract.Outcome)
			return out, child.Get(ctx, out)
		case overdue():
			workflow.RequestCancelExternalWorkflow(m.root, options.WorkflowID, "")
			return nil, domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "interrupted: the sub-agent was told to stop and did not end in time")
		case stops():
			sent = m.stop.mode
			child.SignalChildWorkflow(m.root, string(contract.SignalStop), m.stopForSubagent())
			if sent == contract.StopNow {
				timing, cancel := workflow.WithCancel(m.root)
				defer cancel()
				levels := in.Parent.Levels(in.Definition)
				overdue = workflow.NewTimer(timing, childGrace*time.Duration(levels+1)).IsReady
			}
		case asks():
			if grant, ok := granter.Grant(ctx, child.IsReady); ok {
				if own := m.reports.of(call); own.Seq <= grant.Seq {
					own.Ask = nil
				}
				child.SignalChildWorkflow(m.root, string(contract.SignalGrant), grant)
			}
		default:
			granter.Hold(waits())
		}
	}
}

// stopForSubagent is the stop of the execution as a sub-agent gets it.
func (m *Mailbox) stopForSubagent() contract.StopRequest {
	why := "the agent that started it was stopped"
	if signal, _ := m.agent.State().StopSignal(); signal.Message != "" {
		why += ": " + signal.Message
	}
	return contract.StopRequest{Mode: m.stop.mode, Reason: domain.Shorten(why, domain.MaxReason), Source: domain.SourceParent}
}
