package history

import (
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// signaled makes a fact of a signal; of those that a workflow answers with another one, that tells.
func (d *decoder) signaled(a *historypb.WorkflowExecutionSignaledEventAttributes) []progress.Fact {
	switch a.GetSignalName() {
	case string(contract.SignalStop):
		return one(progress.StopAsked{Request: progress.ReadStop(d.raw(a.GetInput()))})
	case string(contract.SignalBudgetGrant):
		if answer, ok := d.answer(a.GetInput()); ok {
			return one(progress.Granted{Answer: answer})
		}
	case string(contract.SignalBudgetRequest):
		d.childAsksMore(a.GetInput())
	}
	return nil
}

// childAsksMore remembers what a sub-agent under way asks for until that is answered.
func (d *decoder) childAsksMore(in *commonpb.Payloads) {
	request, err := decode[contract.BudgetRequest](d.converter, in)
	if err != nil || d.backwards {
		return
	}
	for _, w := range d.open {
		if w.Child != nil && w.Child.Call() == request.ToolExecutionID {
			d.asked[w.ChildID] = *request
		}
	}
}

// childGranted reads what a sub-agent that asked for more may use from then on.
func (d *decoder) childGranted(a *historypb.SignalExternalWorkflowExecutionInitiatedEventAttributes) []progress.Fact {
	if a.GetSignalName() == string(contract.SignalBudgetRequest) {
		return d.asksMore(a.GetInput())
	}
	if a.GetSignalName() != string(contract.SignalBudgetGrant) {
		return nil
	}
	answer, ok := d.answer(a.GetInput())
	if !ok {
		return nil
	}
	grant := answer.Grant
	workflow := a.GetWorkflowExecution().GetWorkflowId()
	child, err := domain.AgentIDOf(strings.TrimPrefix(workflow, domain.WorkflowIDPrefix))
	if err != nil {
		return nil
	}
	if _, later := d.grants[workflow]; d.backwards && !later {
		d.grants[workflow] = grant
	}
	for id, w := range d.open {
		if w.Child != nil && w.ChildID == child {
			d.open[id] = w.Lent(grant)
		}
	}
	granted := progress.ChildGranted{Child: child, Grant: grant}
	if request, asked := d.asked[child]; asked && request.Number <= answer.Number {
		granted.Asked = &request.MoreAsked
		delete(d.asked, child)
	}
	return one(granted)
}

// asksMore reads what the agent itself asks for.
func (d *decoder) asksMore(in *commonpb.Payloads) []progress.Fact {
	request, err := decode[contract.BudgetRequest](d.converter, in)
	if err != nil {
		return nil
	}
	return one(progress.MoreAsked{Request: *request})
}

// answer reads what somebody is granted, as those do who take it.
func (d *decoder) answer(in *commonpb.Payloads) (contract.BudgetGrant, bool) {
	answer, err := decode[contract.BudgetGrant](d.converter, in)
	if err != nil || answer.Grant.Check() != nil {
		return contract.BudgetGrant{}, false
	}
	return *answer, true
}
