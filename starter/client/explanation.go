package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
	"everstep/starter/client/internal/history"
)

// An explanation is what is known of an execution, by who told it.
type explanation struct {
	target
	// pending is the work that has not ended.
	pending []history.Pending
	// older means that the agent has begun an execution after this one.
	older bool

	// then is what history tells of the agent while the execution was its newest,
	// at of the execution; run is the newest run. gone says that runs of the
	// execution have been deleted.
	then progress.Agent
	at   progress.Execution
	run  progress.Run
	gone bool
	// unsettled are the agent's calls of which nobody knows whether they took effect, by now; settled are those
	// of which somebody has said it.
	unsettled, settled []domain.UnknownCall
	// standing are the session's standing approvals, by now.
	standing []domain.StandingApproval
	// suspended is set while the session accepts nothing.
	suspended *contract.Suspension
	// rewoundTo is the step from which the session's next execution goes on, where a rewind has left it so.
	rewoundTo *domain.Origin
	// waiting are the messages that wait for the agent, by now.
	waiting []contract.WaitingView
	// answer is what its last inference answered, empty where that did not, and saidLast is the newest text of any;
	// failures are why work of its ended without success.
	answer, saidLast string
	failures         []domain.Error
	// children are the sub-agents that it has started.
	children []born
	// prior is what the executions have used that it goes on from, as far as the
	// ends of those tell: not in how much time.
	prior *domain.Spent

	testimony

	missing []string
}

func (e *explanation) miss(format string, args ...any) {
	e.missing = append(e.missing, fmt.Sprintf(format, args...))
}

// read reads the runs in which the execution was, the oldest first, and the newest run, and tells what
// those hold, where somebody wants it.
func (e *explanation) read(ctx context.Context, c *Client, told *retellings) error {
	defer told.end()
	runs, err := e.runs(ctx, c)
	if err != nil {
		return err
	}
	if !slices.Contains(runs, e.runID()) {
		runs = append(runs, e.runID())
	}
	a := progress.NewAgent(e.id, e.firstRunID())
	run, i := progress.Retell(progress.RunBegan{}), 0 // of what stands before a run's beginning nothing is told
	for read := range c.histories(ctx, e.agent, runs) {
		for _, recorded := range read.all {
			if began, ok := recorded.Fact.(progress.RunBegan); ok {
				if i > 0 {
					told.tell(runs[i-1], run, began)
				}
				run = progress.Retell(began)
			}
			run.Take(recorded.Fact, recorded.At)
			before := a.Execution
			a = a.With(recorded.Fact, recorded.At)
			if a.Execution.Number > before.Number && a.Execution.Number <= e.asked {
				e.prior = before.SpentAfter(e.prior)
			}
			if a.Execution.Number == e.asked {
				e.then, e.at = a, a.Execution
				e.answered(recorded.Fact)
				e.breeds(recorded.Fact, recorded.At)
			}
		}
		switch {
		case deleted(read.err):
			e.gone = true
		case read.err != nil:
			return read.err
		}
		i++
	}
	if e.run = a.Run; e.settling != nil {
		for settling := range c.histories(ctx, e.agent, []string{e.newest().runID()}) {
			for _, recorded := range settling.all {
				a = a.With(recorded.Fact, recorded.At)
			}
			if settling.err != nil && !deleted(settling.err) {
				return settling.err
			}
		}
	}
	e.unsettled, e.settled, e.standing = a.Unsettled, a.Settled, a.Standing
	e.waiting, e.suspended, e.rewoundTo = []contract.WaitingView{}, a.Suspended, a.RewoundTo
	for _, w := range a.Waiting {
		e.waiting = append(e.waiting, w.View())
	}
	for _, unread := range a.Unread {
		e.miss("%s", unread)
	}
	return nil
}

// answered notes what work came to. A summary of the conversation is no answer.
func (e *explanation) answered(fact progress.Fact) {
	var work progress.Work
	answer := ""
	switch f := fact.(type) {
	case progress.ModelReplied:
		if work = f.Work; f.Reply.Message != nil {
			answer = f.Reply.Message.Text()
		}
		if f.Reply.Error != nil {
			e.failures = append(e.failures, *f.Reply.Error)
		}
	case progress.Lost:
		if work = f.Work; work.Tool == nil && work.Verify == nil { // a tool that fails ends no execution
			e.failures = append(e.failures, *f.Loss.Err())
		}
	case progress.Asked:
		work = f.Work
	}
	if work.Model == nil || work.Model.Summary != nil {
		return
	}
	if e.answer = answer; strings.TrimSpace(answer) != "" {
		e.saidLast = domain.HeadAndTail(answer, domain.MaxSaidLast)
	}
}

// effects are what the steps tell that the execution has done. There may be more where runs are gone, and where it was
// ended while sub-agents were under way.
func (e *explanation) effects() (effects domain.EffectCounts) {
	steps, _ := e.at.Steps(false)
	for _, step := range steps {
		effects = effects.Merged(step.Effects())
	}
	lost := slices.ContainsFunc(e.then.Open, func(w progress.Work) bool { return w.Child != nil })
	return effects.Merged(domain.EffectCounts{Unknown: e.gone || lost})
}

// runs are those in which the execution was, the oldest first, by what each took over.
func (e *explanation) runs(ctx context.Context, c *Client) ([]string, error) {
	var runs []string
	for runID := e.runID(); runID != ""; {
		began, err := c.reader(e.agent).First(ctx, runID)
		if deleted(err) {
			e.gone = true
			break
		}
		if err != nil {
			return nil, err
		}
		took := progress.Carried(began.Input)
		here := took.Number < e.asked || took.Begins && took.Number == e.asked
		if here || took.Open && took.Execution == e.want() {
			runs = append(runs, runID)
		}
		if here {
			break
		}
		runID = began.Previous()
	}
	slices.Reverse(runs)
	return runs, nil
}

func (e *explanation) recorded() []ExplainStep {
	at := e.at
	at.Running = at.Running && e.outcome == nil
	steps, open := at.Steps(len(e.then.Open) > 0)
	all := make([]ExplainStep, len(steps))
	for i, s := range steps {
		all[i] = explainRecorded(s, e.then.Price != nil, open && i == len(steps)-1)
	}
	return all
}

// byServerHere reports whether it was this execution that the server ended.
func (e *explanation) byServerHere() bool { return e.byServer && e.asked == e.number }

// heardOf reads the signals of an execution that has ended from its events, which have no messages.
func (c *Client) heardOf(ctx context.Context, t target) *domain.Continuation {
	var heard domain.Continuation
	to := &heard.StopSignals
	for event, err := range c.Events(ctx, t.called(), EventsOptions{Number: t.asked}) {
		if err != nil {
			return nil
		}
		switch event := event.(type) {
		case domain.StopSignalReceived:
			*to = append(*to, domain.StopSignal{Reason: event.Reason, Source: event.Source})
		case domain.AgentExecutionStopped:
			to = &heard.Late
		}
	}
	return &heard
}

// continuation is what is known of the signals; whole: others cannot have come.
func (e *explanation) continuation() (c domain.Continuation, whole bool) {
	switch {
	case e.state != nil:
		return e.state.Continuation(), true
	case len(e.steps) > 0:
		c = e.steps[len(e.steps)-1].Continuation
	case !e.told:
		return domain.Continuation{StopSignals: e.at.Signals(), More: e.at.MoreStops}, false
	}
	if e.heard == nil {
		return c, false
	}
	// Those that came after the last step follow those that it knew.
	known := min(len(c.StopSignals)+len(c.Overridden), len(e.heard.StopSignals))
	c.StopSignals = append(slices.Clip(c.StopSignals), e.heard.StopSignals[known:]...)
	c.Late, c.More = append(slices.Clip(c.Late), e.heard.Late...), 0 // each was heard
	return c, true
}

func (e *explanation) error() *domain.Error {
	if e.failure != nil {
		return e.failure
	}
	if e.status != nil && e.status.Error != nil {
		return e.status.Error
	}
	if !e.byServerHere() {
		all := e.failures
		if recorded := e.recorded(); len(recorded) > 0 {
			all = slices.Concat(all, recorded[len(recorded)-1].Errors)
		}
		for _, err := range slices.Backward(all) {
			if cmp.Or(e.outcome.Code, err.Code) == err.Code && cmp.Or(e.outcome.Kind, err.Kind) == err.Kind {
				return &err
			}
		}
	}
	return failureOf(*e.outcome)
}

// counting is continuation with the signal that counted, by its place among
// them, once the execution has ended. Where nobody tells that one, what is known
// of it stands last.
func (e *explanation) counting() (c domain.Continuation, at int, whole bool) {
	c, whole = e.continuation()
	reason := e.outcome.StopReason
	at = slices.IndexFunc(c.StopSignals, func(s domain.StopSignal) bool { return s.Reason == reason })
	if at >= 0 && c.StopSignals[at].Message != "" || reason == "" {
		return c, at, whole
	}
	signal := domain.StopSignal{Reason: reason}
	switch {
	case e.signal != nil && e.signal.Reason == reason:
		signal = *e.signal
	case at >= 0:
		return c, at, whole
	case reason == domain.ErrorForbade:
		signal = domain.SignalOf(e.error())
	}
	if c.StopSignals = slices.Clone(c.StopSignals); at < 0 {
		c.StopSignals, at = append(c.StopSignals, signal), len(c.StopSignals)
	}
	c.StopSignals[at] = signal
	return c, at, whole
}

func (e *explanation) adding(v contract.StatusView) contract.StatusView {
	v.ToolLimits, v.Bound, v.Changes, v.Next = e.then.ToolLimits, e.then.Bound(), e.then.Changes, e.then.NextDefinition()
	v.Agent = e.then.Holder()
	v.Model, v.RateLimit, v.Window, v.Context, v.Origin = e.then.Model, e.then.Limit, e.then.Window, e.at.Fill, e.at.Origin
	v.Trusted, v.BranchedFrom = e.at.Trusted, e.at.Branch
	v.Suspended, v.RewoundTo = e.suspended, e.rewoundTo
	v.WaitingMessages = append(v.WaitingMessages, e.waiting...)
	c, _ := e.continuation()
	if e.outcome != nil && e.outcome.Status != domain.StatusCompleted {
		c, _, _ = e.counting()
	}
	v.Paused = e.outcome == nil && e.at.Paused
	v.PendingApprovals, v.PendingQuestions = e.at.Pending(), e.at.Questions()
	if note := progress.WaitingNote(v.PendingApprovals, v.PendingQuestions); note != "" && e.outcome == nil {
		v.Doing = note
	}
	if e.run.Unstored != nil {
		v.History.Unstored = e.run.Unstored.Message
	}
	v.OutcomeUnknown, v.StandingApprovals = append(v.OutcomeUnknown, e.unsettled...), append(v.StandingApprovals, e.standing...)
	v.StopSignals, v.MoreStops = append(v.StopSignals, c.StopSignals...), c.More
	steps := e.recorded()
	t := totalsOf(steps)
	if e.outcome == nil || e.byServerHere() {
		v.Usage, v.Priced = t.Usage, e.then.Price != nil
		if v.CostUSD = "0"; v.Priced {
			v.CostUSD = domain.USD(*t.CostNanoUSD)
		}
	}
	if account := e.account(); account != nil {
		v.SessionBudget, v.SessionBudgetLeft = &account.Budget, new(account.Left())
	}
	prior := cmp.Or(e.at.Prior, e.prior)
	if e.at.Budget != nil {
		v.Budget = *e.at.Budget
	}
	if prior == nil || e.gone {
		return v
	}
	v.Prior = *prior
	own := t.spent
	own.Tokens = v.Usage.TotalTokens
	v.BudgetLeft = v.Budget.Remaining(prior.Add(own))
	v.BudgetLeft.MaxSeconds = nil // how long it waited for people is not known
	return v
}
