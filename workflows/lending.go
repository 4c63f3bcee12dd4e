package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// A lender answers what the sub-agent of a call asks for.
type lender struct {
	*toolBatch
	call domain.ToolExecutionID
	// waits says that the sub-agent does, handed that what it has asked for was handed on, and counted that its call counts
	// as one that waits for people.
	waits, handed, counted bool
}

// Due reports whether the request of the sub-agent can be met, or is to be refused: where the execution stops, or where all
// sub-agents under way wait with requests, so that none of them would give anything back. Of those the first is refused,
// ends, and leaves what it has not used to the others.
func (l *lender) Due() bool {
	request, ok := l.request()
	return ok && (request.AtOnce || l.state.Continuation().Stops() || l.more(request) > 0 || l.handsOn(request) || l.hopeless())
}

func (l *lender) request() (mailbox.Request, bool) {
	all := l.mail.Requests()
	at := slices.IndexFunc(all, func(r mailbox.Request) bool { return r.ToolExecutionID == l.call })
	if at < 0 {
		return mailbox.Request{}, false
	}
	return all[at], true
}

// Lend answers the request, or hands it on to the agent that has started this one. It answers false where it waits on,
// and where whoever asks is over.
func (l *lender) Lend(ctx workflow.Context, over func() bool) (contract.BudgetGrant, bool) {
	request, _ := l.request()
	more := l.more(request)
	if more == 0 && !request.AtOnce && l.handsOn(request) {
		asked := request.MoreAsked
		if asked.Need = max(asked.Need-l.free(request.Limit), 1); asked.Most != nil {
			asked.Most = new(max(*asked.Most-l.free(request.Limit), asked.Need))
		}
		l.mail.HandedOn(l.call)
		if l.asksAbove(ctx, contract.BudgetRequest{MoreAsked: asked}, over, l.heldAbove) {
			more = l.more(request)
		}
		if over() || more == 0 && !l.state.Continuation().Stops() {
			return contract.BudgetGrant{}, false
		}
	}
	if l.state.Continuation().Stops() {
		more = 0
	}
	grant := l.children.lend(l.call, request.Limit, more)
	view := l.children.all[l.children.at(l.call)]
	l.emit(domain.EventSubagentGranted, domain.SubagentGranted{
		Subagent: view.Subagent, ChildID: view.AgentID, Limit: request.Limit, More: more, Need: request.Need, Grant: grant,
	})
	return contract.BudgetGrant{Number: request.Number, Grant: grant}, true
}

// left is the budget less what was spent and what is kept back for the agent's own answer.
func (b *toolBatch) left() domain.ExecutionBudget {
	left := b.bounds().Left()
	if b.kept != nil {
		left = left.Remaining(*b.kept)
	}
	return left
}

// free is what of a limit nobody has.
func (b *toolBatch) free(limit domain.Limit) int64 {
	use, _ := b.left().UseOf(limit, b.children.pool.Reserved(), b.now())
	return max(use.Total.Int()-use.Used.Int(), 0)
}

// more is what a request gets: a share of what is left, which those under way, those yet to start and the agent itself have
// in equal parts.
func (l *lender) more(r mailbox.Request) int64 {
	return l.children.pool.More(l.left(), r.MoreAsked, int64(len(l.children.all)+l.toSpawn()+1))
}

// handsOn reports whether the agent that has started this one may be asked for what is lacking.
func (l *lender) handsOn(r mailbox.Request) bool {
	return !r.Handed && !l.mail.Asking() && l.couldBorrow(r.Limit)
}

// hopeless reports whether nothing can come to the sub-agents under way, all of which wait with requests, and this is the
// first of them.
func (l *lender) hopeless() bool {
	all := l.mail.Requests()
	return all[0].ToolExecutionID == l.call && len(all) == len(l.children.all) && !l.mail.Asking()
}

// asksFor asks the agent that has started this one for so much of a limit that the next inference fits, where the
// execution would stop for it, and reports whether it got some.
func (s session) asksFor(limit domain.Limit) bool {
	if !s.couldBorrow(limit) {
		return false
	}
	use, _ := s.bounds().UseOf(limit, s.now())
	need, _ := s.budget().UseOf(limit, s.config.resolved.Takes(s.talk.Input(s.config.resolved), 0), s.now())
	s.note("asking for more of " + string(limit))
	lacking := need.Used.Int() - max(use.Total.Int()-use.Used.Int(), 0)
	return s.asksItself(contract.BudgetRequest{MoreAsked: domain.MoreAsked{Limit: limit, Need: lacking}})
}

// roomyAnswer is how many tokens an answer has room for that the budget need not give more.
const roomyAnswer = 1000

// asksForRoom asks for more where the budget leaves an answer so little room that it is likely to be cut, and reports
// whether it got some. Without, the answer has what there is.
func (s session) asksForRoom(room contract.Reservation) bool {
	limit := room.Limit()
	return limit != "" && room.Output < roomyAnswer && !s.mail.Declined() && s.couldBorrow(limit) &&
		s.asksItself(contract.BudgetRequest{MoreAsked: domain.MoreAsked{Limit: limit}, AtOnce: true})
}

// asksForCalls asks for as many tool calls as an answer has, where fewer are left.
func (s session) asksForCalls(calls int) {
	if left, limited := s.callsLeft(); limited && left < int64(calls) && s.couldBorrow(domain.LimitToolCalls) {
		s.asksItself(contract.BudgetRequest{MoreAsked: domain.MoreAsked{Limit: domain.LimitToolCalls, Need: int64(calls) - left}})
	}
}

// couldBorrow reports whether it is of use to ask the parent for more of a limit: it has granted this one, its grant is what
// bounds the execution, the definition would allow more, and the loop is not over. Time is never lent. Whether a request was
// refused before, or is under way, is for the caller to see.
func (s session) couldBorrow(limit domain.Limit) bool {
	if !s.in.Parent.Lends() || s.mail.Ending() {
		return false
	}
	budget, _ := s.bounds().UseOf(limit, s.now())
	grant, granted := s.mail.Granted().UseOf(limit, domain.Spent{}, s.now())
	own, limited := s.config.own.Budget.UseOf(limit, domain.Spent{}, s.now())
	return granted && !grant.Rule.Unit.OfTime() && !budget.Session && budget.Total == grant.Total && (!limited || own.Total.Int() > grant.Total.Int())
}

// asksItself asks for what the agent needs itself, between what it does. Nothing else of it is under way.
func (s session) asksItself(asked contract.BudgetRequest) bool {
	return s.asksAbove(s.root, asked, func() bool { return false }, s.mail.WaitForGrant)
}

func (s session) asksAbove(ctx workflow.Context, asked contract.BudgetRequest, over func() bool, held func(on bool)) bool {
	asked.Need = max(asked.Need, 1)
	if own, limited := s.config.own.Budget.UseOf(asked.Limit, domain.Spent{}, s.now()); limited {
		grant, _ := s.mail.Granted().UseOf(asked.Limit, domain.Spent{}, s.now())
		most := own.Total.Int() - grant.Total.Int()
		if asked.Most == nil || *asked.Most > most {
			asked.Most = &most
		}
	}
	asked.ToolExecutionID = s.in.Parent.Call()
	return s.mail.Ask(ctx, s.above(), asked, over, held)
}

// takeGrants has the budget of an execution in progress rise with what the agent is granted.
func (s session) takeGrants() {
	if !s.in.Parent.Lends() {
		return
	}
	s.mail.TakeGrants(s.in.Parent.Grant, func(before, now domain.ExecutionBudget) {
		if s.state.HasActiveExecution() {
			s.agent.extend(s.budget().Regranted(before, now))
		}
	})
}

// parent is whose sub-agent the agent is, with what that has granted by now.
func (s session) parent() *contract.Parent {
	if !s.in.Parent.Lends() {
		return s.in.Parent
	}
	p := *s.in.Parent
	p.Grant = s.mail.Granted()
	return &p
}
