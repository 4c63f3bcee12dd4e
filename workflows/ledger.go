package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// A budget is what bounds the session's executions, with what they may ask the agent above for.
type budget struct {
	in           *contract.SessionInput
	root         workflow.Context
	agent        *agent
	config       *configuration
	mail         *mailbox.Mailbox
	conversation *transcript
	children     *children
}

// ledger is all that bounds the execution, with what was spent and granted to sub-agents until now.
func (b *budget) ledger() domain.Ledger {
	ledger := b.agent.state.Ledger(b.agent.now())
	ledger.Reserved = b.children.kept
	for _, one := range b.children.all {
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

// children are the sub-agents of the step in progress. It alone holds what they are granted.
type children struct {
	// all are those that have a seat: they are under way, or about to be.
	all []contract.SubagentView
	// kept is what they get nothing of, once one has a seat: it is for the agent's own answer. Zero: no share of a limited budget
	// was given.
	kept domain.Spent
	// storeDown says that the newest of them to end could not be put among the records.
	storeDown bool
}

// of is the sub-agent of a call; nil: it has no seat.
func (c *children) of(call domain.ToolExecutionID) *contract.SubagentView {
	at := slices.IndexFunc(c.all, func(one contract.SubagentView) bool { return one.ToolExecutionID == call })
	if at < 0 {
		return nil
	}
	return &c.all[at]
}

// sit gives a seat to one that starts, with what it is granted.
func (c *children) sit(one contract.SubagentView) { c.all = append(c.all, one) }

// grantMore gives one more of a limit.
func (c *children) grantMore(call domain.ToolExecutionID, limit domain.Limit, more int64) contract.SubagentView {
	one := c.of(call)
	one.Grant = one.Grant.Raised(limit, more)
	return *one
}

// keepBack sets what is kept back; zero is nothing.
func (c *children) keepBack(kept domain.Spent) { c.kept = kept }

// noteReport takes what one has said as it ended.
func (c *children) noteReport(r *contract.Report) { c.storeDown = r != nil && r.StoreDown }

// over gives back the seat of one and what it had. What it has spent of that was counted before.
func (c *children) over(call domain.ToolExecutionID) {
	c.all = slices.DeleteFunc(c.all, func(one contract.SubagentView) bool { return one.ToolExecutionID == call })
}

// crowded reports whether no seat is free.
func (c *children) crowded() bool { return len(c.all) >= domain.MaxAtOnce }
