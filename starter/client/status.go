package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"

	"everstep/workflows/replay"
)

// Status says what an agent is doing now. Without a worker it is what the workflow knew when a worker carried it on last, with
// what waits for a worker since. Of an agent that the server does not have, its newest record tells.
func (c *Client) Status(ctx context.Context, id string) (account.Status, error) {
	s, a, err := c.accountWith(ctx, id, account.RequestOf(account.Newest))
	if isAs[*replay.Error](err) { // no worker answers, and this build cannot replay the history: the server alone tells
		a = account.Account{Head: &account.Head{
			AgentID: s.id, Name: s.name, Run: account.Run{WorkflowID: s.workflowID(), ID: s.runID(), First: s.firstRunID()}, Open: s.name != "",
		}, Server: &account.Server{Source: contract.FromRawHistory, Builds: s.builds}}
		if s.outcome != nil {
			a.Head.Newest = &account.Execution{Outcome: *s.outcome}
		}
		err = c.adding(ctx, s, a.Server)
	}
	if err == nil {
		err = c.checkNewest(a)
	}
	if err != nil {
		return account.Status{}, fail(ctx, id, "reading the account of "+id, err)
	}
	if a.Server.Source == contract.FromRecords {
		if a.Head.Position, err = c.positionIn(ctx, id, a); err != nil {
			c.cfg.Progress(err.Error())
		}
		v := account.StatusOf(*a.Head)
		v.Server = *a.Server
		return v, nil
	}
	v := c.status(ctx, s, a)
	if newest := s.builds.Newest(); s.open() && newest != "" {
		if builds := c.Builds(ctx, s.queue()); !slices.Contains(builds, newest) { // all of them are others
			v.ServedBy = strings.Join(builds, ", ")
		}
	}
	v.Children = slices.Clone(v.Children)
	for i, sub := range v.Children {
		if s, err := c.described(ctx, agent{id: sub.AgentID}, ""); err == nil {
			v.Children[i].Waiting = len(c.memo(s.info()).Waiting().Of(false)) > 0
		}
	}
	return v, nil
}

// endedByServer returns the account with the end of the execution in progress, where the server has ended the workflow: that
// itself does not know.
func (s snapshot) endedByServer(a account.Account) account.Account {
	cut, ok := s.serverEnd()
	newest := s.newestOf(a)
	if !ok || newest.Status.Terminal() {
		return a
	}
	newest.Status, newest.StopReason, newest.Code, newest.Closed = cut.Status, cut.StopReason, cut.Code, true
	newest.CompletedAt, newest.Ended = s.info().GetCloseTime().AsTime(), &contract.End{}
	if cut.Status == domain.StatusFailed {
		newest.Ended.Error = failureOf(cut)
	}
	head := *a.Head
	head.Waits = slices.DeleteFunc(slices.Clone(head.Waits), func(w domain.Wait) bool { return !w.Kind.Rule().Outlasts })
	head.Newest, a.Head = &newest, &head
	a.Executions = slices.Clone(a.Executions)
	for i, e := range a.Executions {
		if e.Number == newest.Number {
			newest.State = e.State
			a.Executions[i] = newest
		}
	}
	return a
}

// serverEnd is the outcome of the execution in progress, where the server itself has ended the run.
func (s snapshot) serverEnd() (contract.Outcome, bool) {
	return contract.EndedByServer(s.info().GetStatus().String())
}

// newestOf is the newest execution, or the first, which is to begin.
func (s snapshot) newestOf(a account.Account) account.Execution {
	if a.Head.Newest != nil {
		return *a.Head.Newest
	}
	return account.Execution{Outcome: contract.Outcome{AgentID: s.id, ExecutionID: s.executionID(1), Number: 1, Status: domain.StatusPending}}
}

// headStatus is what an account itself says of what an agent is doing.
func (s snapshot) headStatus(a account.Account) account.Status {
	v := account.StatusOf(*a.Head)
	if a.Head.Newest == nil {
		v.Execution = s.newestOf(a)
	}
	if !v.Status.Terminal() {
		v.Signals = slices.Clone(v.Signals)
		for _, stop := range a.Server.Stops {
			v.Signals = append(v.Signals, stop.Signal())
		}
	}
	v.Run.ID, v.Server = s.runID(), *a.Server
	return v
}

// status is the status of an agent whose account was read.
func (c *Client) status(ctx context.Context, s snapshot, a account.Account) account.Status {
	v := s.headStatus(a)
	v.Open = v.Open && s.open()
	v.History.Events, v.History.Bytes = s.info().GetHistoryLength(), s.info().GetHistorySizeBytes()
	if !s.open() {
		v.Doing, v.Since, v.Children = "ended", s.info().GetCloseTime().AsTime(), nil
		if _, cut := s.serverEnd(); cut {
			v.Server.Source = contract.FromServer
		}
		return v
	}
	work := a.Server.Pending
	switch task := s.GetPendingWorkflowTask(); {
	case a.Server.FailingTask != nil && a.Server.FailingTask.Failure != "":
		v.Doing = failing(s.builds, *a.Server.FailingTask)
	case v.Server.Source == contract.FromWorkflow || v.Paused:
	case len(work) > 0:
		oldest := slices.MinFunc(work, func(a, b account.Pending) int { return a.Since.Compare(b.Since) })
		alike := !slices.ContainsFunc(work, func(p account.Pending) bool { return standing(p) != standing(oldest) })
		if v.Doing == "" || alike && len(v.Waits) == 0 { // else it is of others, too
			v.Doing, v.Since = cmp.Or(v.Doing, oldest.Activity)+standing(oldest), oldest.Since
		}
	case task != nil && len(v.Waits) > 0:
		v.Doing += "; a request waits for a worker" + s.ofQueue()
	case task != nil:
		v.Doing, v.Since = "it waits for a worker"+s.ofQueue()+" to go on", task.GetOriginalScheduledTime().AsTime()
	}
	if own := v.Ledger.Own(); v.Server.Source != contract.FromWorkflow && v.Ledger.Execution != nil {
		own.Left.MaxSeconds = nil // how long it waited for people since is not known
		v.Ledger.Execution = &own
	}
	return c.waiting(ctx, work, v)
}

// failing says of a workflow task which worker fails to complete it, and why.
func failing(builds contract.Builds, task account.FailingTask) string {
	if other := OtherBuild(builds, task.Build); other != "" {
		return fmt.Sprintf("a worker of another build cannot carry it on (%s), and tries again: %s", other, task.Failure)
	}
	worker := "a worker"
	if task.Worker != "" {
		worker = "worker " + task.Worker
	}
	return worker + " cannot carry it on, and tries again: " + task.Failure
}

// ofQueue names the task queue whose workers take the agent's tasks.
func (s snapshot) ofQueue() string {
	if s.queue() == "" {
		return ""
	}
	return " of task queue " + s.queue()
}

// standing is how an activity stands whose result is waited for.
func standing(w account.Pending) string {
	switch {
	case !w.Next.IsZero():
		return fmt.Sprintf(", attempt %d waits until %s", w.Attempt, w.Next.UTC().Format(time.RFC3339))
	case w.Limited != "":
		return ", waits for its turn: task queue " + w.Limited + " has a rate limit"
	case w.Waiting:
		return ", waits for a worker"
	}
	text := ""
	if w.Fresh {
		text = ", " + string(w.Heartbeat.Phase)
	}
	if w.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", w.Attempt)
	}
	return text
}

// limited are the pieces of work that wait for their turn under a limit, on the queue of the first of them.
func limited(work []account.Pending) []account.Pending {
	i := slices.IndexFunc(work, func(w account.Pending) bool { return w.Limited != "" })
	if i < 0 {
		return nil
	}
	queue := work[i].Limited
	return slices.DeleteFunc(slices.Clone(work), func(w account.Pending) bool { return w.Limited != queue })
}

// waiting says in a status for what an inference, or a worker's tools, wait that do not go on.
func (c *Client) waiting(ctx context.Context, work []account.Pending, v account.Status) account.Status {
	if v.Status.Terminal() {
		return v
	}
	for _, w := range work {
		if w.Fresh && w.Heartbeat.Progress != nil && w.Activity == string(contract.CallTool) {
			v.Progress = append(v.Progress, *w.Heartbeat.Progress)
		}
	}
	if waits := limited(work); len(waits) > 0 {
		return c.rateLimited(ctx, waits, v)
	}
	for _, w := range work {
		if w.Activity == string(contract.CallModel) && !w.Next.IsZero() && w.Failure != nil {
			v.Doing = contract.AttemptWaits(v.Steps+1, w.Attempt, w.Next, w.Failure)
			return v
		}
		why := ""
		switch own := w.Activity == string(contract.ListTools); {
		case own && w.Fresh && w.Heartbeat.Progress != nil:
			why = w.Heartbeat.Progress.Text
		case own && w.Failure != nil:
			why = domain.Shorten(w.Failure.Message, 600) // it is said in passing
		default:
			continue
		}
		if v.Server.Source == contract.FromWorkflow { // else that is said already
			v.Doing += standing(w)
		}
		v.Doing += ": " + why
		return v
	}
	return v
}

func (c *Client) rateLimited(ctx context.Context, waits []account.Pending, v account.Status) account.Status {
	first := waits[0]
	v.RateLimited, v.Since = true, first.Since
	rate, what := "task queue "+first.Limited+" has a rate limit", "waits for its turn to ask the model"
	if v.Configuration.RateLimit != nil {
		rate = v.Configuration.RateLimit.String()
	}
	if first.Activity == string(contract.CallTool) {
		rate, what = "task queue "+first.Limited+" has a limit", fmt.Sprintf("calls that wait for their turn: %d", len(waits))
		for name, limit := range v.Configuration.ToolLimits {
			if limit.TaskQueue == first.Limited {
				rate, what = limit.String(), what+" of "+name
			}
		}
	}
	v.Doing = fmt.Sprintf("step %d: %s (%s)", v.Steps+1, what, rate)
	if !c.served(ctx, first.Limited) {
		v.Doing = fmt.Sprintf("step %d: %s", v.Steps+1, unserved(first))
	}
	return v
}

// unserved says what to do about a queue that nobody asks for work.
func unserved(waits account.Pending) string {
	if waits.Activity == string(contract.CallTool) {
		return "no worker serves task queue " + waits.Limited + ", where its calls wait; start one that has the tool's limit (EVERSTEP_TOOL_LIMITS); where none has it any more, the agent notices after some minutes"
	}
	return "no worker serves task queue " + waits.Limited + ", where its inferences wait; start one that has the rate limit (EVERSTEP_RATE_LIMITS)"
}
