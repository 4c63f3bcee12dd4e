package mailbox

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// askingTime bounds the wait for the agent that has started this one to answer: it has something again when another of its
// sub-agents ends, which may take long.
const askingTime = 10 * time.Minute

// A Lender is the agent that has started a sub-agent, which may ask it for more of its budget.
type Lender interface {
	// Due reports whether a request of the sub-agent is to be looked at.
	Due() bool
	// Lend answers it, in the coroutine of the call. It answers false where the request waits on, and where the sub-agent
	// is over meanwhile.
	Lend(ctx workflow.Context, over func() bool) (contract.BudgetGrant, bool)
	// Held says that the sub-agent waits for people or for an answer, or goes on.
	Held(on bool)
}

// lending is what is asked of this agent by its sub-agents, and by it of the agent that has started it.
type lending struct {
	// requests wait for an answer, in the order in which they came, and are of sub-agents under way that may ask, which
	// borrowers are. listens says that they are taken.
	requests  []Request
	borrowers []domain.ToolExecutionID
	listens   bool
	// borrowed is the agent's own grant, in force, and what it asks for. asked counts its requests in this run.
	borrowed borrowed
	asked    int
	// asking says that a request of its own is under way, declined that one was refused which it could go on without.
	asking, declined bool
}

// A Request is a sub-agent's that waits. Handed says that it was handed on in vain.
type Request struct {
	contract.BudgetRequest
	Handed bool
}

// lends has a sub-agent ask, from the first one on for the life of the run. What is of none that is under way is for nobody.
func (l *lending) lends(root workflow.Context, call domain.ToolExecutionID) {
	if l.borrowers = append(l.borrowers, call); l.listens {
		return
	}
	l.listens = true
	receive(root, contract.SignalBudgetRequest, func(request contract.BudgetRequest) {
		if slices.Contains(l.borrowers, request.ToolExecutionID) {
			l.forget(request.ToolExecutionID)
			l.requests = append(l.requests, Request{BudgetRequest: request})
		}
	})
}

func (l *lending) over(call domain.ToolExecutionID) {
	l.forget(call)
	l.borrowers = slices.DeleteFunc(l.borrowers, func(one domain.ToolExecutionID) bool { return one == call })
}

func (l *lending) forget(call domain.ToolExecutionID) {
	l.requests = slices.DeleteFunc(slices.Clone(l.requests), func(r Request) bool { return r.ToolExecutionID == call })
}

// Requests are those of sub-agents that wait, in the order in which they came. The caller must not change them.
func (m *Mailbox) Requests() []Request { return m.lending.requests }

// HandedOn notes that the agent that has started this one gave nothing for a request.
func (m *Mailbox) HandedOn(call domain.ToolExecutionID) {
	for i := range m.lending.requests {
		if m.lending.requests[i].ToolExecutionID == call {
			m.lending.requests[i].Handed = true
		}
	}
}

// Granted is what this agent may use of the budget of the one that has started it.
func (m *Mailbox) Granted() domain.ExecutionBudget { return m.lending.borrowed.Grant() }

// TakeGrants has the budget of the execution in progress rise with what the agent is granted, for the life of the run. What
// answers none of its requests is nobody's grant.
func (m *Mailbox) TakeGrants(granted domain.ExecutionBudget, raise func(before, now domain.ExecutionBudget)) {
	m.lending.borrowed = newBorrowed(granted)
	receive(m.root, contract.SignalBudgetGrant, func(grant contract.BudgetGrant) {
		if grant.Grant.Check() != nil {
			return
		}
		before := m.Granted()
		if borrowed, _, ok := m.lending.borrowed.Answered(grant); ok {
			m.lending.borrowed = borrowed
			raise(before, m.Granted())
		}
	})
}

// Declined reports whether a request was refused in this run that the agent could go on without.
func (m *Mailbox) Declined() bool { return m.lending.declined }

// Asking reports whether a request of this agent's own is under way.
func (m *Mailbox) Asking() bool { return m.lending.asking }

// Ask asks the agent that has started this one for more, in the coroutine of ctx, and reports whether it gave any. One
// request is under way at a time. Whatever stops the execution ends the wait, and the end of whom it is for. held is told as
// the wait begins, and as it is over.
func (m *Mailbox) Ask(ctx workflow.Context, parent string, request contract.BudgetRequest, over func() bool, held func(on bool)) bool {
	l := &m.lending
	if m.stops() || over() {
		return false
	}
	if l.asking {
		held(true)
		_ = workflow.Await(ctx, func() bool { return !l.asking || m.stops() || over() })
		if held(false); m.stops() || over() {
			return false
		}
	}
	l.asking = true
	held(true)
	defer func() {
		held(false)
		l.asking = false
		m.tellAbove()
	}()
	l.asked++
	number, before := m.numbered(l.asked), m.Granted()
	request.Number = number
	l.borrowed = l.borrowed.Asking(request)
	sent := workflow.SignalExternalWorkflow(m.root, parent, "", string(contract.SignalBudgetRequest), request)
	pause, cancel := workflow.WithCancel(m.root)
	defer cancel()
	timer := workflow.NewTimer(pause, askingTime)
	lost := func() bool { return sent.IsReady() && sent.Get(ctx, nil) != nil }
	_ = workflow.Await(ctx, func() bool { return !l.borrowed.Waits(number) || m.stops() || over() || timer.IsReady() || lost() })
	more := !m.stops() && !m.Granted().Within(before)
	l.declined = l.declined || request.AtOnce && !more
	return more
}
