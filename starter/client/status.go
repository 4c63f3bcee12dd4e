package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
	"everstep/starter/client/internal/history"
)

// Status says what an agent is doing now. Where no worker answers within 2 s, what the server knows is
// told instead, and Source says so. What that cannot tell is then zero: how much time is left, and
// signals of hooks and tools. Of an agent that the server does not have, its newest record tells.
func (c *Client) Status(ctx context.Context, id string) (contract.StatusView, error) {
	v, err := c.liveStatus(ctx, id)
	return orKept(ctx, c, id, 0, v, err, func(c *Client, a agent, r record.Record) contract.StatusView {
		position, err := c.keptPosition(ctx, r)
		if err != nil {
			c.cfg.Progress(err.Error())
		}
		return statusOf(a, r, position)
	})
}

func (c *Client) liveStatus(ctx context.Context, id string) (contract.StatusView, error) {
	s, err := c.describe(ctx, id)
	if err != nil {
		return contract.StatusView{}, err
	}
	v, err := c.statusOfRun(ctx, s, id)
	if v.Build, v.CarriedBy = s.builds.Begun, s.builds.Last; err == nil && s.open() {
		v.ServedBy = c.servedBy(ctx, s.queue(), s.builds)
	}
	return v, err
}

func (c *Client) statusOfRun(ctx context.Context, s snapshot, id string) (contract.StatusView, error) {
	if _, byServer := history.ServerEnd(s.info().GetStatus()); !byServer {
		if view := c.statusByWorkflow(ctx, s); view != nil {
			v := c.waiting(ctx, s, c.asking(ctx, c.withoutSettled(s, s.counting(s.completing(*view)))))
			if s.open() && s.GetPendingWorkflowTask().GetAttempt() > 1 { // the worker that answers may lack a hook
				if p, err := c.position(ctx, s); err == nil {
					v.Doing = cmp.Or(p.stuck(), v.Doing)
				}
			}
			return v, nil
		}
	}
	return c.statusByServer(ctx, id)
}

// asking says which sub-agents wait for a person's word, as far as the server tells.
func (c *Client) asking(ctx context.Context, v contract.StatusView) contract.StatusView {
	for i, sub := range v.Subagents {
		if s, err := c.described(ctx, agent{id: sub.AgentID}, ""); err == nil {
			v.Subagents[i].Waiting = c.waitingIn(s.info()) > 0
		}
	}
	return v
}

// statusByWorkflow is nil where no worker answers.
func (c *Client) statusByWorkflow(ctx context.Context, s snapshot) *contract.StatusView {
	view, err := glance(ctx, c, s.agent, s.questioned(), contract.QueryStatus, contract.StatusRequest{})
	if err != nil {
		return nil
	}
	return &view
}

// withoutSettled leaves out the calls that were settled after the end.
func (c *Client) withoutSettled(s snapshot, v contract.StatusView) contract.StatusView {
	if s.settling == nil {
		return v
	}
	left, _ := history.Unsettled(c.cfg.Converter, s.newest().info().GetMemo()) // the workflow has written it
	v.OutcomeUnknown = slices.DeleteFunc(v.OutcomeUnknown, func(u domain.UnknownCall) bool {
		return !slices.ContainsFunc(left, func(l domain.UnknownCall) bool { return l.ID == u.ID })
	})
	return v
}

// completing adds to the workflow's own view what only the server knows.
func (s snapshot) completing(v contract.StatusView) contract.StatusView {
	v.WorkflowID, v.RunID = s.workflowID(), s.runID()
	v.History.Events, v.History.Bytes = s.info().GetHistoryLength(), s.info().GetHistorySizeBytes()
	v.Source, v.Open = contract.FromWorkflow, v.Open && s.open()
	if !s.open() {
		v.Doing = "ended"
	}
	return v
}

// counting names by number the executions of the session that a status names by id.
func (s snapshot) counting(v contract.StatusView) contract.StatusView {
	numberOf := func(id domain.ExecutionID) int {
		for n := 1; n <= v.Number && !id.IsZero(); n++ {
			if s.executionID(n) == id {
				return n
			}
		}
		return 0
	}
	v.OriginNumber = numberOf(v.Origin)
	if v.BranchedFrom != nil {
		v.OriginNumber = numberOf(v.BranchedFrom.ExecutionID)
	}
	if v.RewoundTo != nil {
		v.RewoundToNumber = numberOf(v.RewoundTo.ExecutionID)
	}
	return v
}

// statusByServer tells what can be told without a worker.
func (c *Client) statusByServer(ctx context.Context, id string) (contract.StatusView, error) {
	p, err := c.locate(ctx, id)
	if err != nil {
		return contract.StatusView{}, err
	}
	e := explanation{target: target{position: p, asked: p.number, outcome: p.ended}}
	if err := e.read(ctx, c, nil); err != nil {
		return contract.StatusView{}, fail(ctx, id, "reading the history of "+id, err)
	}
	return c.waiting(ctx, p.snapshot, p.counting(e.adding(p.view(c.pending(p.snapshot))))), nil
}

// view shows an agent by the outcome of its newest execution, else by its pending work, else
// by the step that the history names.
func (p position) view(work []history.Pending) contract.StatusView {
	v := contract.StatusView{
		AgentID: p.id, Name: p.name, ExecutionID: p.executionID(p.number), Number: p.number,
		WorkflowID: p.workflowID(), RunID: p.runID(), CostUSD: "0",
		StopSignals: []domain.StopSignal{}, OutcomeUnknown: []domain.UnknownCall{}, PendingApprovals: []domain.PendingApproval{}, PendingQuestions: []domain.PendingQuestion{},
		StandingApprovals: []domain.StandingApproval{}, WaitingMessages: []contract.WaitingView{},
		History: contract.HistoryView{Events: p.info().GetHistoryLength(), Bytes: p.info().GetHistorySizeBytes()},
		Open:    p.open() && p.name != "",
	}
	if p.ended == nil {
		v.Status, v.Source = domain.StatusInProgress, contract.FromHistory
		step := p.step
		for _, w := range work {
			if w.Beat != nil && w.Beat.ExecutionID == v.ExecutionID && w.Beat.Step >= step {
				step, v.Source = w.Beat.Step, contract.FromHeartbeat
			}
		}
		v.StepCount = max(step-1, 0)
		v.Doing, v.Since = p.doing(work, step)
		return v
	}
	o := *p.ended
	v.Status, v.StopReason, v.StepCount, v.Usage = o.Status, o.StopReason, o.Steps, o.Usage.View()
	v.CostUSD, v.Priced = domain.USD(o.CostNanoUSD), o.Priced
	v.Source, v.Doing = contract.FromMemo, "ended"
	if p.open() {
		v.Doing = cmp.Or(p.stuck(), "idle")
	} else if closed := p.info().GetCloseTime(); closed != nil {
		v.Since = closed.AsTime()
	}
	if p.byServer {
		v.Source = contract.FromServer
	}
	if o.Status == domain.StatusFailed {
		v.Error = failureOf(o)
	}
	return v
}

func (p position) stuck() string {
	if p.trouble == "" {
		return ""
	}
	if other := OtherBuild(p.builds, p.troubled); other != "" {
		return fmt.Sprintf("a worker of another build cannot carry it on (%s), and tries again: %s", other, p.trouble)
	}
	worker := "a worker"
	if p.failing != "" {
		worker = "worker " + p.failing
	}
	return worker + " cannot carry it on, and tries again: " + p.trouble
}

func (p position) doing(work []history.Pending, step int) (string, time.Time) {
	if p.trouble == "" && len(work) > 0 {
		oldest := slices.MinFunc(work, func(a, b history.Pending) int { return a.Since.Compare(b.Since) })
		return describeWork(work, step), oldest.Since
	}
	text, since := "no worker"+p.ofQueue()+" says", time.Time{}
	if task := p.GetPendingWorkflowTask(); task != nil {
		text, since = "it waits for a worker"+p.ofQueue()+" to go on", task.GetOriginalScheduledTime().AsTime()
	}
	return cmp.Or(p.stuck(), text), since
}

// ofQueue names the task queue whose workers take the agent's tasks.
func (s snapshot) ofQueue() string {
	if s.queue() == "" {
		return ""
	}
	return " of task queue " + s.queue()
}

func describeWork(work []history.Pending, step int) string {
	var tools int
	for _, w := range work {
		switch w.Activity {
		case string(contract.CallModel):
			return fmt.Sprintf("step %d: inference%s", step, how(w))
		case string(contract.CallTool):
			tools++
		}
	}
	switch first := work[0]; {
	case tools == 1 && len(work) == 1:
		return fmt.Sprintf("step %d: tool call%s", step, how(first))
	case tools > 0:
		return fmt.Sprintf("step %d: %d tool calls", step, tools)
	case first.Activity == string(contract.VerifyCall):
		return fmt.Sprintf("step %d: asking a tool what became of its call%s", step, how(first))
	case first.Activity == string(contract.ListTools):
		return "asking a worker for its tools" + how(first)
	case first.Activity == string(contract.Bind):
		return "opening a session with an MCP server" + how(first)
	case first.Activity == string(contract.Unbind):
		return "ending a session with an MCP server" + how(first)
	case first.Activity == string(contract.CallHook):
		return "calling a hook" + how(first)
	case first.Activity == string(contract.Record):
		return "recording the transcript" + how(first)
	default:
		return first.Activity
	}
}

func how(w history.Pending) string {
	switch {
	case w.BackingOff:
		return fmt.Sprintf(", attempt %d waits for its time", w.Attempt)
	case w.Limited != "":
		return ", waits for its turn: task queue " + w.Limited + " has a rate limit"
	case w.Waiting:
		return ", waits for a worker"
	case w.Beat != nil && w.Attempt > 1:
		return fmt.Sprintf(", %s, attempt %d", w.Beat.Phase, w.Attempt)
	case w.Beat != nil:
		return ", " + string(w.Beat.Phase)
	}
	return ""
}

// limited are the pieces of work that wait for their turn under a limit, on the queue of the first of them.
func limited(work []history.Pending) []history.Pending {
	i := slices.IndexFunc(work, func(w history.Pending) bool { return w.Limited != "" })
	if i < 0 {
		return nil
	}
	queue := work[i].Limited
	return slices.DeleteFunc(slices.Clone(work), func(w history.Pending) bool { return w.Limited != queue })
}

// waiting says in a status for what an inference waits that does not go on.
func (c *Client) waiting(ctx context.Context, s snapshot, v contract.StatusView) contract.StatusView {
	if v.Status != domain.StatusInProgress {
		return v
	}
	work := c.pending(s)
	for _, w := range work {
		if w.Fresh && w.Beat.Progress != nil {
			v.Progress = append(v.Progress, *w.Beat.Progress)
		}
	}
	if waits := limited(work); len(waits) > 0 {
		return c.rateLimited(ctx, waits, v)
	}
	for _, w := range work {
		if w.Activity == string(contract.CallModel) && w.BackingOff && w.Before != nil {
			v.Doing = progress.Waits(v.StepCount+1, w.Attempt, w.Next, w.Before)
			return v
		}
	}
	return v
}

func (c *Client) rateLimited(ctx context.Context, waits []history.Pending, v contract.StatusView) contract.StatusView {
	first := waits[0]
	v.RateLimited, v.Since = true, first.Since
	rate, what := "task queue "+first.Limited+" has a rate limit", "waits for its turn to ask the model"
	if v.RateLimit != nil {
		rate = v.RateLimit.String()
	}
	if first.Activity == string(contract.CallTool) {
		rate, what = "task queue "+first.Limited+" has a limit", fmt.Sprintf("calls that wait for their turn: %d", len(waits))
		for name, limit := range v.ToolLimits {
			if limit.TaskQueue == first.Limited {
				rate, what = limit.String(), what+" of "+name
			}
		}
	}
	v.Doing = fmt.Sprintf("step %d: %s (%s)", v.StepCount+1, what, rate)
	if !c.served(ctx, first.Limited) {
		v.Doing = fmt.Sprintf("step %d: %s", v.StepCount+1, unserved(first))
	}
	return v
}

// unserved says what to do about a queue that nobody asks for work.
func unserved(waits history.Pending) string {
	if waits.Activity == string(contract.CallTool) {
		return "no worker serves task queue " + waits.Limited + ", where its calls wait; start one that has the tool's limit (EVERSTEP_TOOL_LIMITS); where none has it any more, the agent notices after some minutes"
	}
	return "no worker serves task queue " + waits.Limited + ", where its inferences wait; start one that has the rate limit (EVERSTEP_RATE_LIMITS)"
}

// served reports whether a worker asks a task queue for activities, as far as the server says.
func (c *Client) served(ctx context.Context, queue string) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	described, err := c.temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: c.cfg.Namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, TaskQueueType: enumspb.TASK_QUEUE_TYPE_ACTIVITY,
	})
	return err != nil || len(described.GetPollers()) > 0
}
