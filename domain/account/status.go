package account

import (
	"everstep/domain"
	"everstep/domain/contract"
)

// Status is what the head says of an agent, in the form in which people and programs get it. What only the server knows, such
// as the size of the history, is absent, and the source is the workflow.
func (h Head) Status() contract.StatusView {
	v := contract.StatusView{
		AgentID: h.AgentID, Name: h.Name, WorkflowID: h.Run.WorkflowID, RunID: h.Run.ID, Status: domain.StatusPending,
		Doing: h.Doing, Since: h.Since, Lacking: h.Lacking, Open: h.Open, Paused: h.Paused, Suspended: h.Suspended,
		Model: h.Configuration.Model, Agent: h.Configuration.Agent, RateLimit: h.Configuration.RateLimit, ToolLimits: h.Configuration.ToolLimits,
		Changes: h.Configuration.Changes, Next: h.Configuration.Next, RewoundTo: h.Position.From, Cleared: h.Position.Edits.CountCleared(),
		Trusted: h.Trusted, Todo: h.Todo, Bound: h.MCPSessions, Subagents: h.Children, Window: h.Window, Context: h.Context,
		StandingApprovals: append([]domain.StandingApproval{}, h.AlwaysAllowed...), WaitingMessages: append([]contract.WaitingView{}, h.Unread...),
		Source: contract.FromWorkflow, History: contract.HistoryView{Runs: h.Run.Number, Unstored: h.Unstored, Unrecorded: h.Unrecorded},
		StopSignals: []domain.StopSignal{}, Waits: append([]domain.Wait{}, h.Waits...),
	}
	if h.Parent != nil {
		v.ParentAgentID, v.Subagent = h.Parent.AgentID, h.Parent.Subagent
	}
	if own := h.Ledger.Execution; own != nil {
		v.Budget, v.BudgetLeft = own.Limit, own.Left
	}
	if all := h.Ledger.Session; all != nil {
		v.SessionBudget, v.SessionBudgetLeft = &all.Limit, &all.Left
	}
	if h.Newest != nil {
		h.Newest.addTo(&v)
		v.OriginNumber = h.OriginNumber(*h.Newest)
		if v.RewoundTo != nil {
			v.RewoundToNumber = h.numberOf(v.RewoundTo.ExecutionID, h.Newest.Number)
		}
	}
	return v
}

// OriginNumber is the number of the execution that one of the agent goes on from; zero: that is another agent's, or there is none.
func (h Head) OriginNumber(e Execution) int {
	switch {
	case e.Origin == nil, !e.Origin.AgentID.IsZero() && e.Origin.AgentID != h.AgentID:
		return 0
	case h.Name == "": // it goes on from where it has ended, in another workflow
		return e.Number - 1
	}
	return h.numberOf(e.Origin.ExecutionID, e.Number-1)
}

// numberOf is the number of an execution of the session, up to the newest that it can be; zero: it is none of them.
func (h Head) numberOf(id domain.ExecutionID, newest int) int {
	for n := newest; n > 0; n-- {
		if h.AgentID.Execution(h.Run.First, n) == id {
			return n
		}
	}
	return 0
}

func (e Execution) addTo(v *contract.StatusView) {
	v.ExecutionID, v.Number, v.Status, v.StopReason, v.StepCount = e.ExecutionID, e.Number, e.Status, e.StopReason, e.Steps
	v.Usage, v.CostNanoUSD, v.Priced, v.Prior = e.Usage.View(), e.CostNanoUSD, e.Priced, e.Prior
	v.SessionLimit = e.SessionLimit
	v.StopSignals, v.MoreStops = append(v.StopSignals, e.Signals...), e.MoreSignals
	if e.Origin != nil {
		v.Origin, v.BranchedFrom = e.Origin.ExecutionID, e.Origin.Branch()
	}
	if e.Ended != nil && e.Status == domain.StatusFailed {
		v.Error = e.Ended.Error
	}
}
