package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// A budget is what bounds the session's executions, with what their sub-agents are granted of it, and what they may ask the agent
// above for.
type budget struct {
	in           *contract.SessionInput
	root         workflow.Context
	agent        *agent
	config       *configuration
	mail         *mailbox.Mailbox
	conversation *transcript
	// children are the sub-agents of the step in progress that have a seat: they are under way, or about to be.
	children []contract.SubagentView
	// kept is what they get nothing of, once one has a seat: it is for the agent's own answer. Zero: no share of a limited budget
	// was given.
	kept domain.Spent
	// storeDown says that the newest of them to end could not be put among the records.
	storeDown bool
}

// ledger is all that bounds the execution, with what was spent and granted to sub-agents until now.
func (b *budget) ledger() domain.Ledger {
	ledger := b.agent.state.Ledger(b.agent.now())
	ledger.Reserved = b.kept
	for _, one := range b.children {
		ledger.Reserved = ledger.Reserved.Add(one.Grant.Whole())
	}
	return ledger
}

// left is how much of a limit is left that is not reserved; ok: there is such a limit.
func (b *budget) left(limit domain.Limit) (left int64, ok bool) {
	total, ok := b.ledger().Free().Total(limit)
	return total.Int(), ok
}

// reserve is what the next inference may use, or the limit of which it has too little.
func (b *budget) reserve() (contract.Reservation, domain.Limit) {
	ledger := b.ledger()
	return b.config.Resolved.Reserve(ledger.Budget(), ledger.Execution.Spent, b.conversation.input())
}

// signalShort says that the next inference does not fit what is left of a
// limit; the empty one is that which lost attempts had taken of.
func (b *budget) signalShort(limit domain.Limit) {
	ledger := b.ledger()
	switch {
	case limit != "":
	case ledger.Totals().MaxTokens != nil:
		limit = domain.LimitTokens
	default:
		limit = domain.LimitCost
	}
	use, _ := ledger.UseOf(limit, b.agent.now())
	b.limited(use, use.TooShortSignal(b.conversation.input()))
}

// limited stops the execution at a limit, of its own or of its session.
func (b *budget) limited(use domain.LimitUse, signal domain.StopSignal) {
	signal.Source = domain.SourceBudget
	if use.Session {
		signal.Source = domain.SourceSessionBudget
	}
	b.agent.Signal(signal)
}

// seat reserves the share of a sub-agent that is to start, as one of so many of its step, or says why there is none for it.
//
// The sub-agents of a step get nothing of the least that an inference takes of all that is said until now, and of room for their
// results and an answer, but of the rest no more than the share of one of them is kept back, or a quarter where they are many.
// What was kept back for the first of them is for all.
func (b *budget) seat(call domain.ToolExecutionID, subagent string, toStart int64) *domain.Error {
	free := b.ledger().Free()
	if !free.IsEmpty() {
		if b.kept == (domain.Spent{}) {
			input := b.conversation.input()
			least, room := b.config.Resolved.Takes(input, 0), b.config.Resolved.Takes(domain.AddCost(input, toStart*keptResult), keptAnswer)
			most := free.Remaining(least).Share(min(toStart+1, 4))
			b.kept = least.Add(room.Less(least).AtMost(most.Whole()))
		}
		free = b.ledger().Free()
		if use, none := (domain.Ledger{Execution: domain.Holder{Budget: free}}).Reached(b.agent.now()); none && !use.Rule.Unit.OfTime() {
			return notRun("too little is left of %s to share it with a sub-agent; do it without, or answer with what you have", use.Rule.Limit)
		}
		if free.MaxSteps != nil {
			toStart = min(toStart, *free.MaxSteps)
		}
	}
	b.children = append(b.children, contract.SubagentView{
		AgentID: call.Subagent(), Subagent: subagent, ToolExecutionID: call, Since: b.agent.now(), Grant: free.Share(toStart),
	})
	return nil
}

// What is kept back for the results of sub-agents, each, and for what the agent says of them, in tokens.
const keptResult, keptAnswer = 4000, 4000

// keepNothing is for a step whose calls are over.
func (b *budget) keepNothing() { b.kept = domain.Spent{} }

// child is the sub-agent of a call; nil: it has no seat.
func (b *budget) child(call domain.ToolExecutionID) *contract.SubagentView {
	for i := range b.children {
		if b.children[i].ToolExecutionID == call {
			return &b.children[i]
		}
	}
	return nil
}

// grantMore gives one sub-agent more of a limit.
func (b *budget) grantMore(call domain.ToolExecutionID, limit domain.Limit, more int64) contract.SubagentView {
	one := b.child(call)
	one.Grant = one.Grant.Raised(limit, more)
	return *one
}

// noteReport takes what a sub-agent has said as it ended.
func (b *budget) noteReport(r *contract.Report) { b.storeDown = r != nil && r.StoreDown }

// unseat gives back the seat of a sub-agent and what it had. What it has spent of that was counted before.
func (b *budget) unseat(call domain.ToolExecutionID) {
	b.children = slices.DeleteFunc(b.children, func(one contract.SubagentView) bool { return one.ToolExecutionID == call })
}

// crowded reports whether no seat is free.
func (b *budget) crowded() bool { return len(b.children) >= domain.MaxAtOnce }
