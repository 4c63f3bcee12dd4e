package client

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
	"everstep/starter/process"
)

// A ListedSchedule is one schedule of a list.
type ListedSchedule struct {
	Name string `json:"name"`
	// Session is the agent that its runs send to; empty: each has one of its own.
	Session string `json:"session,omitzero"`
	Model   string `json:"model,omitzero"`
	When    When   `json:"when"`
	Paused  bool   `json:"paused"`
	// Note says why it is paused, where somebody has said so.
	Note string `json:"note,omitzero"`
	// NextRuns are the next times at which it runs, the nearest first; none while it is paused.
	NextRuns []time.Time `json:"next_runs"`
	// LastRun is when its newest run began.
	LastRun time.Time `json:"last_run_at,omitzero"`
}

// scheduleMemo is what the server's list tells of a schedule.
type scheduleMemo struct {
	Session string `json:"session,omitzero"`
	Model   string `json:"model,omitzero"`
	When    When   `json:"when"`
}

// A ScheduleView is all that is known of a schedule.
type ScheduleView struct {
	ListedSchedule
	Overlap        Overlap       `json:"overlap"`
	CatchupWindow  contract.Span `json:"catchup_window"`
	PauseOnFailure bool          `json:"pause_on_failure"`
	// Prompt, SystemPrompt, Tools and Budget are what a run begins with.
	Prompt       string                 `json:"prompt"`
	SystemPrompt string                 `json:"system_prompt,omitzero"`
	Tools        []string               `json:"tools,omitempty"`
	Budget       domain.ExecutionBudget `json:"budget,omitzero"`
	Trusted      domain.Trusted         `json:"trusted,omitempty"`
	TaskQueue    string                 `json:"task_queue"`
	CreatedAt    time.Time              `json:"created_at"`
	// Begun counts the runs so far, Skipped those that were left out as another was under way, Missed those that were due
	// while the server was away for longer than the window.
	Begun   int `json:"runs_begun"`
	Skipped int `json:"runs_skipped"`
	Missed  int `json:"runs_missed"`
	// Runs are the newest ones, ten at most, the newest last.
	Runs []ScheduleRun `json:"runs"`
}

// A ScheduleRun is a run of a schedule. Its status is pending until its execution begins.
type ScheduleRun struct {
	// ID is the agent's: what other commands and functions take. It is empty until a worker has begun the run.
	ID string `json:"id,omitzero"`
	contract.ScheduledRun
	// DueAt is when it was due, BeganAt when the server began it.
	DueAt   time.Time `json:"due_at"`
	BeganAt time.Time `json:"began_at"`
	// Why says of a run that has failed before it began anything what was in its way, such as a suspended session.
	Why string `json:"why,omitzero"`
	// Open says that it is under way.
	Open bool `json:"open"`
	// Gone says that the server has deleted what it knew of the run.
	Gone bool `json:"gone,omitzero"`
	// WorkflowID and FirstRunID name the run's own workflow.
	WorkflowID string `json:"scheduled_workflow_id"`
	FirstRunID string `json:"scheduled_run_id"`
}

// Schedules yields the schedules of agents that the server knows. Those of other workflows are left out. It needs no
// worker. What was created a moment ago may be missing.
func (c *Client) Schedules(ctx context.Context) iter.Seq2[ListedSchedule, error] {
	return func(yield func(ListedSchedule, error) bool) {
		call, cancel := context.WithTimeout(ctx, slowListTimeout)
		defer cancel()
		all, err := c.temporal.ScheduleClient().List(call, sdk.ScheduleListOptions{PageSize: listPage})
		for err == nil && all.HasNext() {
			var entry *sdk.ScheduleListEntry
			if entry, err = all.Next(); err != nil {
				break
			}
			if entry.WorkflowType.Name != string(contract.Scheduled) {
				continue
			}
			listed := c.listedSchedule(entry.ID, c.memoOf(entry.Memo).over(entry.Spec), entry.Paused, entry.Note, entry.NextActionTimes)
			if n := len(entry.RecentActions); n > 0 {
				listed.LastRun = entry.RecentActions[n-1].ActualTime.UTC()
			}
			if !yield(listed, nil) {
				return
			}
		}
		if err != nil {
			yield(ListedSchedule{}, fail(ctx, "", "listing schedules", err))
		}
	}
}

// shownNext bounds the next times that are shown of a schedule.
const shownNext = 5

// memoOf is what a schedule's memo tells; one that cannot be read tells nothing.
func (c *Client) memoOf(memo *commonpb.Memo) (told scheduleMemo) {
	_ = c.cfg.Converter.FromPayload(memo.GetFields()[contract.MemoSchedule], &told)
	return told
}

func (c *Client) listedSchedule(name string, told scheduleMemo, paused bool, note string, next []time.Time) ListedSchedule {
	if paused {
		next = nil
	}
	return ListedSchedule{
		Name: name, Session: told.Session, Model: told.Model, When: told.When, Paused: paused, Note: note, NextRuns: comesNext(next, shownNext),
	}
}

// Schedule tells of one schedule: when it runs, what, and what came of its newest runs. It needs no worker.
func (c *Client) Schedule(ctx context.Context, name string) (ScheduleView, error) {
	d, action, err := c.describeSchedule(ctx, name)
	if err != nil {
		return ScheduleView{}, err
	}
	state, policy := d.Schedule.State, d.Schedule.Policy
	view := ScheduleView{
		ListedSchedule: c.listedSchedule(name, c.memoOf(d.Memo).over(d.Schedule.Spec), state.Paused, state.Note, d.Info.NextActionTimes),
		Overlap:        overlapOf(policy.Overlap), CatchupWindow: contract.Span(policy.CatchupWindow), PauseOnFailure: policy.PauseOnFailure,
		TaskQueue: action.TaskQueue, CreatedAt: d.Info.CreatedAt.UTC(),
		Begun: d.Info.NumActions, Skipped: d.Info.NumActionsSkippedOverlap, Missed: d.Info.NumActionsMissedCatchupWindow,
		Runs: c.scheduleRuns(ctx, name, d.Info.RecentActions),
	}
	if n := len(view.Runs); n > 0 {
		view.LastRun = view.Runs[n-1].BeganAt
	}
	in, _ := c.scheduledBy(action) // what cannot be read is not shown
	definition := in.Start.Definition
	view.Prompt, view.SystemPrompt, view.Tools = in.Start.Prompt, definition.SystemPrompt, definition.Tools
	view.Budget = contract.BudgetOf(definition, in.Start.Budget, nil)
	if in.Start.Given != nil {
		view.Trusted = in.Start.Given.Trusted
	}
	return view, nil
}

// describeSchedule is what the server tells of a schedule of agents.
func (c *Client) describeSchedule(ctx context.Context, name string) (*sdk.ScheduleDescription, *sdk.ScheduleWorkflowAction, error) {
	if err := checkScheduleName(name); err != nil {
		return nil, nil, invalid(err)
	}
	call, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	d, err := history.RetryWhileAway(call, func() (*sdk.ScheduleDescription, error) {
		return c.temporal.ScheduleClient().GetHandle(call, name).Describe(call)
	})
	if err != nil {
		return nil, nil, c.failSchedule(ctx, name, "reading schedule "+name, err)
	}
	action, ok := d.Schedule.Action.(*sdk.ScheduleWorkflowAction)
	if !ok || action.Workflow != string(contract.Scheduled) {
		return nil, nil, errorf(Refused, nil, "schedule: %s is none of agents; it is for tools of Temporal", name)
	}
	return d, action, nil
}

// scheduleRuns says what came of runs, as their own workflows tell.
func (c *Client) scheduleRuns(ctx context.Context, name string, actions []sdk.ScheduleActionResult) []ScheduleRun {
	runs := make([]ScheduleRun, len(actions))
	var looking sync.WaitGroup
	for i, a := range actions {
		runs[i] = ScheduleRun{ScheduledRun: contract.ScheduledRun{Schedule: name, Status: domain.StatusPending}, DueAt: a.ScheduleTime.UTC(), BeganAt: a.ActualTime.UTC()}
		if a.StartWorkflowResult != nil {
			runs[i].WorkflowID, runs[i].FirstRunID = a.StartWorkflowResult.WorkflowID, a.StartWorkflowResult.FirstExecutionRunID
			looking.Go(func() { runs[i] = c.scheduleRun(ctx, runs[i]) })
		}
	}
	looking.Wait()
	slices.SortStableFunc(runs, func(a, b ScheduleRun) int { return a.BeganAt.Compare(b.BeganAt) })
	return runs
}

func (c *Client) scheduleRun(ctx context.Context, r ScheduleRun) ScheduleRun {
	call, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	d, err := c.temporal.DescribeWorkflowExecution(call, r.WorkflowID, r.FirstRunID)
	if err != nil {
		r.Gone = deleted(err)
		return r
	}
	info := d.GetWorkflowExecutionInfo()
	var told contract.ScheduledRun
	if c.cfg.Converter.FromPayload(info.GetMemo().GetFields()[contract.MemoScheduled], &told) == nil {
		r.ScheduledRun = told
	}
	if r.ID = r.Name; r.ID == "" && !r.AgentID.IsZero() {
		r.ID = r.AgentID.String()
	}
	r.Open = info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	if cut, byServer := history.ServerEnd(info.GetStatus()); byServer && !r.Status.Terminal() {
		r.Status, r.StopReason, r.Code, r.EndedAt = cut.Status, cut.StopReason, cut.Code, info.GetCloseTime().AsTime()
	}
	if r.Status == domain.StatusFailed && r.Number == 0 {
		reader := c.reader(agent{})
		reader.Workflow = r.WorkflowID
		why, err := reader.Failure(ctx, r.FirstRunID)
		if r.Why = why; err != nil {
			r.Why = "the server does not say why"
		}
	}
	return r
}

// A ScheduleChange says whether a schedule was paused, or unpaused, just now.
type ScheduleChange struct {
	Name    string `json:"name"`
	Paused  bool   `json:"paused"`
	Changed bool   `json:"changed"`
}

// PauseSchedule has a schedule begin nothing until UnpauseSchedule, but for TriggerSchedule. Runs under way go on. The
// note is for whoever asks why. It needs no worker.
func (c *Client) PauseSchedule(ctx context.Context, name, note string) (ScheduleChange, error) {
	return c.pauseSchedule(ctx, name, true, note)
}

// UnpauseSchedule ends a pause. What was due meanwhile is not made up for.
func (c *Client) UnpauseSchedule(ctx context.Context, name, note string) (ScheduleChange, error) {
	return c.pauseSchedule(ctx, name, false, note)
}

// pauseSchedule pauses a schedule, or ends its pause; one that is so already stays as it is.
func (c *Client) pauseSchedule(ctx context.Context, name string, on bool, note string) (ScheduleChange, error) {
	switch {
	case len(note) > domain.MaxReason:
		return ScheduleChange{}, errorf(Invalid, nil, "reason: has %d bytes; at most %d are allowed", len(note), domain.MaxReason)
	case !utf8.ValidString(note):
		return ScheduleChange{}, errorf(Invalid, nil, "reason: is not valid UTF-8; convert it")
	}
	d, _, err := c.describeSchedule(ctx, name)
	if err != nil || d.Schedule.State.Paused == on {
		return ScheduleChange{Name: name, Paused: on}, err
	}
	call, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	handle := c.temporal.ScheduleClient().GetHandle(call, name)
	doing := "unpausing"
	if on {
		doing = "pausing"
		err = handle.Pause(call, sdk.SchedulePauseOptions{Note: cmp.Or(note, "paused by "+c.cfg.By.Identity)})
	} else {
		err = handle.Unpause(call, sdk.ScheduleUnpauseOptions{Note: cmp.Or(note, "unpaused by "+c.cfg.By.Identity)})
	}
	if err != nil {
		return ScheduleChange{}, c.failSchedule(ctx, name, doing+" schedule "+name, err)
	}
	return ScheduleChange{Name: name, Paused: on, Changed: true}, nil
}

// triggerPatience is how long a run that was triggered is waited for.
const triggerPatience = 5 * time.Second

// TriggerSchedule has a schedule run now, paused or not. overlap takes the place of the schedule's own; empty: that
// holds. It returns the run once it has an agent, or after 5 s as far as it has come: without a workflow where it waits
// for another one, without an ID where it waits for a worker. It is refused where the policy leaves the run out.
func (c *Client) TriggerSchedule(ctx context.Context, name string, overlap Overlap) (ScheduleRun, error) {
	if err := new(Overlap).UnmarshalText([]byte(overlap)); err != nil {
		return ScheduleRun{}, invalid(err)
	}
	before, _, err := c.describeSchedule(ctx, name)
	if err != nil {
		return ScheduleRun{}, err
	}
	call, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	err = c.temporal.ScheduleClient().GetHandle(call, name).Trigger(call, sdk.ScheduleTriggerOptions{Overlap: overlapPolicies[overlap]})
	if err != nil {
		return ScheduleRun{}, c.failSchedule(ctx, name, "triggering schedule "+name, err)
	}
	run := ScheduleRun{ScheduledRun: contract.ScheduledRun{Schedule: name, Status: domain.StatusPending}}
	for until := time.Now().Add(triggerPatience); run.ID == "" && time.Now().Before(until); {
		if err := process.Pause(ctx, askAgain); err != nil {
			return run, fail(ctx, name, "waiting for schedule "+name+" to run", err)
		}
		now, _, err := c.describeSchedule(ctx, name)
		if err != nil {
			return run, err
		}
		i := slices.IndexFunc(now.Info.RecentActions, func(a sdk.ScheduleActionResult) bool {
			return !slices.ContainsFunc(before.Info.RecentActions, func(b sdk.ScheduleActionResult) bool { return sameAction(a, b) })
		})
		switch {
		case i >= 0:
			run = c.scheduleRuns(ctx, name, now.Info.RecentActions[i:i+1])[0]
		case now.Info.NumActionsSkippedOverlap > before.Info.NumActionsSkippedOverlap:
			return run, errorf(Refused, nil, "schedule %s: a run is under way, and the overlap policy left this one out; stop that, or trigger with another policy", name).next("`schedule trigger %s --overlap BufferOne` runs after it", name)
		}
	}
	return run, nil
}

func sameAction(a, b sdk.ScheduleActionResult) bool {
	x, y := a.StartWorkflowResult, b.StartWorkflowResult
	return x != nil && y != nil && *x == *y || x == nil && y == nil && a.ActualTime.Equal(b.ActualTime)
}

// A DeletedSchedule says which schedule there is no more.
type DeletedSchedule struct {
	Name string `json:"name"`
	// Running are the agents of its runs that are under way, which go on.
	Running []string `json:"running"`
}

// DeleteSchedule deletes a schedule. Its agents stay, and those under way go on. It needs no worker.
func (c *Client) DeleteSchedule(ctx context.Context, name string) (DeletedSchedule, error) {
	d, _, err := c.describeSchedule(ctx, name)
	if err != nil {
		return DeletedSchedule{}, err
	}
	gone := DeletedSchedule{Name: name, Running: []string{}}
	for _, w := range d.Info.RunningWorkflows {
		run := c.scheduleRun(ctx, ScheduleRun{WorkflowID: w.WorkflowID, FirstRunID: w.FirstExecutionRunID})
		if run.Open {
			gone.Running = append(gone.Running, cmp.Or(run.ID, run.WorkflowID))
		}
	}
	call, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	err = c.temporal.ScheduleClient().GetHandle(call, name).Delete(call)
	return gone, c.failSchedule(ctx, name, "deleting schedule "+name, err)
}
