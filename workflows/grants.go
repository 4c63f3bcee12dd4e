package workflows

import (
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// A granter answers what the sub-agent of a call asks for.
type granter struct{ call *call }

// Due reports whether the sub-agent asks for what can be given, or is to be refused: where the execution stops, or where all
// sub-agents under way ask, so that none of them would give anything back. Of those the first is refused, ends, and leaves
// what it has not used to the others.
func (g *granter) Due() bool {
	b := g.call.batch
	report := b.mail.Asks(g.call.id)
	return report != nil && (report.Ask.AtOnce || b.agent.state.Continuation().Stops() || b.canGrant(*report.Ask) > 0 || b.canAskAbove(*report) || g.hopeless())
}

// Grant answers what the sub-agent asks for. Where this agent has too little, it asks the one above for the rest first. It
// answers false where the sub-agent waits on: another may end and leave something. So it does where the sub-agent is over.
func (g *granter) Grant(ctx workflow.Context, over func() bool) (contract.Grant, bool) {
	b, id := g.call.batch, g.call.id
	report := *b.mail.Asks(id)
	ask := *report.Ask
	if b.canGrant(ask) == 0 && !ask.AtOnce && b.canAskAbove(report) {
		b.mail.Asks(id).Forwarded = true
		held := g.Holds()
		b.session.budget.asksAbove(ctx, b.lacking(ask), over, func(on bool) { g.Hold(on || held) })
		if over() || b.canGrant(ask) == 0 && !b.agent.state.Continuation().Stops() {
			return contract.Grant{}, false
		}
	}
	more := b.canGrant(ask)
	if b.agent.state.Continuation().Stops() {
		more = 0
	}
	child := b.session.budget.grantMore(id, ask.Limit, more)
	b.agent.emit(domain.EventSubagentGranted, domain.SubagentGranted{
		Subagent: child.Subagent, ChildID: child.AgentID, Limit: ask.Limit, More: more, Need: ask.Need, Grant: child.Grant,
	})
	return contract.Grant{Seq: report.Seq, Grant: child.Grant}, true
}

// hopeless reports whether nothing can come to the sub-agents under way, all of which ask, and this is the first of them.
func (g *granter) hopeless() bool {
	b := g.call.batch
	first, n := b.mail.Asking()
	return first == g.call.id && n == len(b.session.budget.children) && !b.mail.AsksAbove()
}

// Hold has the call count as one that waits for people for as long as its sub-agent waits.
func (g *granter) Hold(on bool) {
	switch {
	case on == g.Holds():
	case on:
		g.call.wait(forPeople)
	default:
		g.call.wait(forNobody)
	}
}

// Holds reports whether the call counts as one that waits for people.
func (g *granter) Holds() bool { return g.call.waits == forPeople }

// canGrant is what a sub-agent gets: a share of what is free, which those under way, those yet to start and the agent itself
// have in equal parts.
func (b *toolBatch) canGrant(ask domain.Ask) int64 {
	return b.session.budget.ledger().Free().More(ask, int64(len(b.session.budget.children)+b.toSpawn()+1))
}

// lacking is what the agent has to ask for to meet what a sub-agent asks for.
func (b *toolBatch) lacking(ask domain.Ask) domain.Ask {
	free, _ := b.session.budget.left(ask.Limit)
	if ask.Need = max(ask.Need-free, 1); ask.Most != nil {
		ask.Most = new(max(*ask.Most-free, ask.Need))
	}
	return ask
}

// canAskAbove reports whether the agent that has started this one may be asked for what is lacking.
func (b *toolBatch) canAskAbove(r mailbox.Reported) bool {
	return !r.Forwarded && !b.mail.AsksAbove() && b.session.budget.mayAskAbove(r.Ask.Limit)
}

// guard checks the budget before a step, unless the loop stops anyway: what is used up, and whether the next inference fits at
// all. A sub-agent asks for more first.
func (b *budget) guard() {
	for !b.mail.Stopped() {
		use, reached := b.ledger().Reached(b.agent.now())
		short := use.Rule.Limit
		if !reached {
			if _, short = b.reserve(); short == "" {
				return
			}
		}
		if b.asksFor(short) {
			continue
		}
		switch {
		case b.mail.Stopped():
		case reached:
			b.limited(use, use.ReachedSignal())
		default:
			b.signalShort(short)
		}
		return
	}
}

// asksFor asks the agent that has started this one for so much of a limit that the next inference fits, where the
// execution would stop for it, and reports whether it got some.
func (b *budget) asksFor(limit domain.Limit) bool {
	if !b.mayAskAbove(limit) {
		return false
	}
	b.agent.note("asking for more of " + string(limit))
	left, _ := b.left(limit)
	takes := domain.Holder{Spent: b.config.Resolved.Takes(b.conversation.input(), 0)}
	need, _ := takes.UseOf(limit, b.agent.now())
	return b.asksItself(domain.Ask{Limit: limit, Need: need.Used.Int() - left})
}

// roomyAnswer is how many tokens an answer has room for that the budget need not give more.
const roomyAnswer = 1000

// asksForRoom asks for more where the budget leaves an answer so little room that it is likely to be cut, and reports
// whether it got some. Without, the answer has what there is.
func (b *budget) asksForRoom(room contract.Reservation) bool {
	limit := room.Limit()
	return limit != "" && room.Output < roomyAnswer && !b.mail.Declined() && b.mayAskAbove(limit) &&
		b.asksItself(domain.Ask{Limit: limit, AtOnce: true})
}

// asksForCalls asks for as many tool calls as an answer has, where fewer are left.
func (b *budget) asksForCalls(calls int) {
	if left, limited := b.left(domain.LimitToolCalls); limited && left < int64(calls) && b.mayAskAbove(domain.LimitToolCalls) {
		b.asksItself(domain.Ask{Limit: domain.LimitToolCalls, Need: int64(calls) - left})
	}
}

// mayAskAbove reports whether it is of use to ask the parent for more of a limit: it has granted this one, its grant is what
// bounds the execution, the definition would allow more, and the loop is not over. Time is never granted. Whether a request was
// refused before, or is under way, is for the caller to see.
func (b *budget) mayAskAbove(limit domain.Limit) bool {
	if b.in.Parent == nil || b.mail.Ending() {
		return false
	}
	budget, _ := b.ledger().UseOf(limit, b.agent.now())
	grant, granted := b.mail.Granted().Total(limit)
	own, limited := b.config.Definition.Budget.Total(limit)
	return granted && !grant.Unit().OfTime() && !budget.Session && budget.Total == grant && (!limited || own.Int() > grant.Int())
}

// asksItself asks for what the agent needs itself, between what it does. Nothing else of it is under way.
func (b *budget) asksItself(ask domain.Ask) bool {
	return b.asksAbove(b.root, ask, func() bool { return false }, b.mail.WaitForGrant)
}

// asksAbove asks the agent that has started this one for at most so much as the definition allows.
func (b *budget) asksAbove(ctx workflow.Context, ask domain.Ask, over func() bool, held func(on bool)) bool {
	ask.Need = max(ask.Need, 1)
	if own, limited := b.config.Definition.Budget.Total(ask.Limit); limited {
		grant, _ := b.mail.Granted().Total(ask.Limit)
		most := own.Int() - grant.Int()
		if ask.Most == nil || *ask.Most > most {
			ask.Most = &most
		}
	}
	return b.mail.Ask(ctx, ask, over, held)
}

// joinTree has a sub-agent report to the agent that has started it, and the budget of its execution in progress rise with
// what that grants.
func (s *session) joinTree() {
	p := s.in.Parent
	if p == nil {
		return
	}
	above := domain.WorkflowID(p.AgentID.String())
	if started := s.info.ParentWorkflowExecution; started != nil {
		above = started.ID
	}
	s.mail.Under(above, p.Call(), p.Grant, func(before, now domain.ExecutionBudget) {
		if s.agent.state.HasActiveExecution() {
			s.agent.extend(s.agent.budget().Regranted(before, now))
		}
	})
}

// parent is whose sub-agent the agent is, with what that has granted by now.
func (s *session) parent() *contract.Parent {
	if s.in.Parent == nil {
		return nil
	}
	p := *s.in.Parent
	p.Grant = s.mail.Granted()
	return &p
}
