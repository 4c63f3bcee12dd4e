package mailbox

import (
	"encoding/json"
	"slices"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// askingTime bounds the wait for the agent that has started this one to answer: it has something again when another of its
// sub-agents ends, which may take long.
const askingTime = 10 * time.Minute

// receive has take called with each signal of a kind, for the life of the run. What cannot be read is for nobody.
func receive[Body any](root workflow.Context, signal contract.Signal[Body], take func(Body)) {
	channel := workflow.GetSignalChannel(root, string(signal))
	workflow.GoNamed(root, string(signal), func(ctx workflow.Context) {
		for {
			var raw converter.RawValue
			channel.Receive(ctx, &raw)
			var body Body
			if json.Unmarshal(raw.Payload().GetData(), &body) == nil {
				take(body)
			}
		}
	})
}

// reports are what sub-agents under way have told this agent: the newest report of each, in the order in which these came.
type reports struct {
	newest []Reported
	// received says that reports are taken.
	received bool
}

// A Reported is the newest report of a sub-agent. Forwarded says that what it asks for was asked above in vain.
type Reported struct {
	contract.ChildReport
	Forwarded bool
}

// expect has a sub-agent report, from the first one on for the life of the run.
func (r *reports) expect(root workflow.Context, call domain.ToolExecutionID) {
	r.newest = append(r.newest, Reported{ChildReport: contract.ChildReport{ID: call}})
	if !r.received {
		r.received = true
		receive(root, contract.SignalReport, r.take)
	}
}

// take takes a report once. What is of no sub-agent under way is for nobody, and of two reports the later one counts, in
// whatever order they come.
func (r *reports) take(report contract.ChildReport) {
	if own := r.of(report.ID); own != nil && report.Seq > own.Seq {
		r.over(report.ID)
		r.newest = append(r.newest, Reported{ChildReport: report})
	}
}

func (r *reports) over(call domain.ToolExecutionID) {
	r.newest = slices.DeleteFunc(r.newest, func(one Reported) bool { return one.ID == call })
}

// of is the newest report of a sub-agent; nil: it is not under way.
func (r *reports) of(call domain.ToolExecutionID) *Reported {
	for i := range r.newest {
		if r.newest[i].ID == call {
			return &r.newest[i]
		}
	}
	return nil
}

// Asks is the report by which the sub-agent of a call waits for more; nil: it does not. It is not kept over a wait.
func (m *Mailbox) Asks(call domain.ToolExecutionID) *Reported {
	if own := m.reports.of(call); own != nil && own.Ask != nil {
		return own
	}
	return nil
}

// Asking counts the sub-agents that wait for more, and names the one of them that has waited the longest.
func (m *Mailbox) Asking() (first domain.ToolExecutionID, n int) {
	for _, one := range m.reports.newest {
		if one.Ask == nil {
			continue
		}
		if n++; n == 1 {
			first = one.ID
		}
	}
	return first, n
}

// above is the agent that has started this one, as far as it is told and grants; zero: this one is a root.
type above struct {
	// workflow is that agent's, call the one of its calls that has started this agent.
	workflow string
	call     domain.ToolExecutionID
	// seq is the number of the newest report, and waits says that it told of a wait for people.
	seq   int
	waits bool
	// grant is what this agent may use in all. asks are the reports of this run that have asked for more and have no answer.
	grant domain.ExecutionBudget
	asks  []contract.ChildReport
	// asking says that a report that asks is waited for, declined that one was refused that this agent could go on without.
	asking, declined bool
}

// Under has the agent report to the one that has started it, and the budget of the execution in progress rise with what that
// grants, for the life of the run.
func (m *Mailbox) Under(workflow string, call domain.ToolExecutionID, granted domain.ExecutionBudget, raise func(before, now domain.ExecutionBudget)) {
	m.above.workflow, m.above.call, m.above.grant = workflow, call, granted
	receive(m.root, contract.SignalGrant, func(grant contract.Grant) {
		if before := m.above.grant; m.above.take(grant) {
			raise(before, m.above.grant)
		}
	})
}

// take takes an answer once. Anybody who may signal workflows can send one: it is one only to a report that has asked, by
// its number, and gives more of nothing but what that asked for. One that comes late is taken, too: whoever gave it has set
// that aside.
func (a *above) take(answer contract.Grant) bool {
	at := slices.IndexFunc(a.asks, func(r contract.ChildReport) bool { return r.Seq == answer.Seq })
	if at < 0 || answer.Grant.Check() != nil {
		return false
	}
	a.grant = a.grant.Answered(*a.asks[at].Ask, answer.Grant)
	a.asks = a.asks[at+1:]
	return true
}

// report tells the agent that has started this one how it stands. Whether that learns of a wait does not matter: it is over
// where it does not.
func (m *Mailbox) report(ask *domain.Ask) (contract.ChildReport, workflow.Future) {
	m.above.seq++
	report := contract.ChildReport{ID: m.above.call, Seq: m.above.seq, Waits: m.above.waits, Ask: ask}
	return report, workflow.SignalExternalWorkflow(m.root, m.above.workflow, "", string(contract.SignalReport), report)
}

// reportWaits reports that the agent waits for people, or goes on, where that is another thing than was told. While it asks
// for more it waits anyway.
func (m *Mailbox) reportWaits() {
	on := m.asking || !m.waiting.IsZero()
	if m.above.workflow != "" && !m.above.asking && on != m.above.waits {
		m.above.waits = on
		m.report(nil)
	}
}

// Granted is what this agent may use of the budget of the one that has started it.
func (m *Mailbox) Granted() domain.ExecutionBudget { return m.above.grant }

// Declined reports whether a request was refused in this run that the agent could go on without.
func (m *Mailbox) Declined() bool { return m.above.declined }

// AsksAbove reports whether the agent waits for what it has asked for.
func (m *Mailbox) AsksAbove() bool { return m.above.asking }

// Ask asks the agent that has started this one for more, in the coroutine of ctx, and reports whether it gave any. Nobody
// asks while somebody does. Whatever stops the execution ends the wait, and the end of whom it is for. held is told as the
// wait begins, and as it is over.
func (m *Mailbox) Ask(ctx workflow.Context, ask domain.Ask, over func() bool, held func(on bool)) bool {
	a := &m.above
	if a.asking || m.stops() || over() {
		return false
	}
	a.asking = true
	held(true)
	defer func() {
		held(false)
		a.asking = false
		m.reportWaits()
	}()
	before := a.grant
	report, sent := m.report(&ask)
	a.asks = append(a.asks, report)
	pause, cancel := workflow.WithCancel(m.root)
	defer cancel()
	timer := workflow.NewTimer(pause, askingTime)
	answered := func() bool { return len(a.asks) == 0 } // this is the last of them
	lost := func() bool { return sent.IsReady() && sent.Get(ctx, nil) != nil }
	m.wait(ctx, func() bool { return answered() || m.stops() || over() || timer.IsReady() || lost() })
	more := !m.stops() && !a.grant.Within(before)
	a.declined = a.declined || ask.AtOnce && !more
	return more
}

// WaitForGrant says that the agent waits for an answer from above, and nothing else is under way, or that this is over. The
// time between counts as waited.
func (m *Mailbox) WaitForGrant(on bool) {
	m.waitsForGrant = on
	m.countWaiting()
}
