package history

import (
	"fmt"

	historypb "go.temporal.io/api/history/v1"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// childAsked reads with what a sub-agent was to start. A workflow that is none is nothing of ours.
func (d *decoder) childAsked(event *historypb.HistoryEvent) []progress.Fact {
	a := event.GetStartChildWorkflowExecutionInitiatedEventAttributes()
	in, err := decode[contract.SessionInput](d.converter, a.GetInput())
	if err == nil && (in.Parent == nil || in.Parent.Position < 0 || in.Parent.Position >= domain.MaxRequestedCalls) {
		err = fmt.Errorf("it is %q and no sub-agent's", domain.Shorten(a.GetWorkflowId(), 64))
	}
	w := progress.Work{ID: fmt.Sprintf("child/%d", event.GetEventId()), Activity: domain.SpawnSubagent, Since: event.GetEventTime().AsTime()}
	var facts []progress.Fact
	if err != nil {
		facts = unreadable("what a sub-agent began with", err)
	} else {
		w = progress.ChildWork(*in)
		w.Since = event.GetEventTime().AsTime()
	}
	return append(facts, progress.Asked{Work: w})
}
