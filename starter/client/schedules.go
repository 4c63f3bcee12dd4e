package client

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

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
// worker. What was created a moment ago may be missing. It asks the server about each of them, since what its own list has
// of a schedule is as that was created.
func (c *Client) Schedules(ctx context.Context) iter.Seq2[ListedSchedule, error] {
	return sequence(ctx, "", "listing schedules", func(yield func(ListedSchedule, error) bool) error {
		request := &workflowservice.ListSchedulesRequest{Namespace: c.cfg.Namespace, MaximumPageSize: listPage}
		for more := true; more; more = len(request.GetNextPageToken()) > 0 {
			page, err := onSchedule(ctx, "", "listing", c.temporal.WorkflowService().ListSchedules, request)
			if err != nil {
				return err
			}
			listed := make([]ListedSchedule, len(page.GetSchedules())) // zero: it is of no agents, or not there any more
			group, asking := errgroup.WithContext(ctx)
			group.SetLimit(8)
			for i, entry := range page.GetSchedules() {
				if entry.GetInfo().GetWorkflowType().GetName() != string(contract.Scheduled) {
					continue
				}
				group.Go(func() error {
					d, err := c.describeSchedule(asking, entry.GetScheduleId())
					switch {
					case Is(err, NotFound):
						return nil
					case err != nil:
						return err
					}
					s, _ := c.readSchedule(entry.GetScheduleId(), d.GetSchedule()) // what cannot be read is not shown
					listed[i] = listedSchedule(s, d)
					return nil
				})
			}
			if err := group.Wait(); err != nil {
				return err
			}
			for _, one := range listed {
				if one.Name != "" && !yield(one, nil) {
					return nil
				}
			}
			request.NextPageToken = page.GetNextPageToken()
		}
		return nil
	})
}

// describeSchedule is what the server tells of a schedule of agents.
func (c *Client) describeSchedule(ctx context.Context, name string) (*workflowservice.DescribeScheduleResponse, error) {
	if err := checkScheduleName(name); err != nil {
		return nil, invalid(err)
	}
	d, err := onSchedule(ctx, name, "reading", c.temporal.WorkflowService().DescribeSchedule, &workflowservice.DescribeScheduleRequest{Namespace: c.cfg.Namespace, ScheduleId: name})
	if err == nil && d.GetSchedule().GetAction().GetStartWorkflow().GetWorkflowType().GetName() != string(contract.Scheduled) {
		return nil, refused("schedule: %s is none of agents; it is for tools of Temporal", name)
	}
	return d, err
}

// listedSchedule is what a list tells of a schedule.
func listedSchedule(s Schedule, d *workflowservice.DescribeScheduleResponse) ListedSchedule {
	listed := ListedSchedule{
		Name: s.Name, Session: s.Start.ID, Model: s.Start.Definition.Model.String(), When: s.When,
		Paused: s.Paused, Note: d.GetSchedule().GetState().GetNotes(), NextRuns: []time.Time{},
	}
	if next := d.GetInfo().GetFutureActionTimes(); !s.Paused {
		for _, at := range next[:min(len(next), 5)] {
			listed.NextRuns = append(listed.NextRuns, at.AsTime())
		}
	}
	for _, run := range d.GetInfo().GetRecentActions() {
		listed.LastRun = run.GetActualTime().AsTime()
	}
	return listed
}

// Schedule tells of one schedule: when it runs, what, and what came of its newest runs. It needs no worker.
func (c *Client) Schedule(ctx context.Context, name string) (ScheduleView, error) {
	d, err := c.describeSchedule(ctx, name)
	if err != nil {
		return ScheduleView{}, err
	}
	return c.scheduleView(ctx, name, d), nil
}

func (c *Client) scheduleView(ctx context.Context, name string, d *workflowservice.DescribeScheduleResponse) ScheduleView {
	s, _ := c.readSchedule(name, d.GetSchedule()) // what cannot be read is not shown
	definition, info := s.Start.Definition, d.GetInfo()
	return ScheduleView{
		ListedSchedule: listedSchedule(s, d),
		Overlap:        s.Overlap, CatchupWindow: contract.Span(s.CatchupWindow), PauseOnFailure: s.PauseOnFailure,
		Prompt: s.Start.Prompt, SystemPrompt: definition.SystemPrompt, Tools: definition.Tools,
		Budget: contract.BudgetOf(definition, s.Start.Budget, nil), Trusted: s.Start.Trusted,
		TaskQueue: s.TaskQueue, CreatedAt: info.GetCreateTime().AsTime(),
		Begun: int(info.GetActionCount()), Skipped: int(info.GetOverlapSkipped()), Missed: int(info.GetMissedCatchupWindow()),
		Runs: c.scheduleRuns(ctx, name, info.GetRecentActions()),
	}
}

// scheduleRuns says what came of runs, as their own workflows tell.
func (c *Client) scheduleRuns(ctx context.Context, name string, actions []*schedulepb.ScheduleActionResult) []ScheduleRun {
	runs := make([]ScheduleRun, len(actions))
	var looking sync.WaitGroup
	for i, a := range actions {
		of := a.GetStartWorkflowResult()
		runs[i] = ScheduleRun{
			ScheduledRun: contract.ScheduledRun{Schedule: name, Status: domain.StatusPending}, DueAt: a.GetScheduleTime().AsTime(), BeganAt: a.GetActualTime().AsTime(),
			WorkflowID: of.GetWorkflowId(), FirstRunID: of.GetRunId(),
		}
		looking.Go(func() { runs[i] = c.scheduleRun(ctx, runs[i]) })
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
	if told, ok := c.memo(info).Scheduled(); ok {
		r.ScheduledRun = told
	}
	if r.ID = r.Name; r.ID == "" && !r.AgentID.IsZero() {
		r.ID = r.AgentID.String()
	}
	r.Open = info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	if cut, byServer := contract.EndedByServer(info.GetStatus().String()); byServer && !r.Status.Terminal() {
		r.Status, r.StopReason, r.Code, r.EndedAt = cut.Status, cut.StopReason, cut.Code, info.GetCloseTime().AsTime()
	}
	if r.Status == domain.StatusFailed && r.Number == 0 {
		reader := c.reader(agent{})
		reader.Workflow = r.WorkflowID
		ended, err := reader.End(ctx, r.FirstRunID)
		if r.Why = ended.Why; err != nil {
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

// PauseSchedule has a schedule begin nothing until its pause is ended, but for TriggerSchedule, or ends that; one that is so already
// stays as it is. Runs under way go on. What was due meanwhile is not made up for. The note is for whoever asks why. It needs no
// worker.
func (c *Client) PauseSchedule(ctx context.Context, name string, on bool, note string) (ScheduleChange, error) {
	if err := domain.CheckText("reason", note, domain.MaxReason); err != nil {
		return ScheduleChange{}, invalid(err)
	}
	d, err := c.describeSchedule(ctx, name)
	if err != nil || d.GetSchedule().GetState().GetPaused() == on {
		return ScheduleChange{Name: name, Paused: on}, err
	}
	doing, patch := "pausing", &schedulepb.SchedulePatch{Pause: cmp.Or(note, "paused by "+c.cfg.By.Identity)}
	if !on {
		doing, patch = "unpausing", &schedulepb.SchedulePatch{Unpause: cmp.Or(note, "unpaused by "+c.cfg.By.Identity)}
	}
	return ScheduleChange{Name: name, Paused: on, Changed: true}, c.patchSchedule(ctx, name, doing, patch)
}

func (c *Client) patchSchedule(ctx context.Context, name, doing string, patch *schedulepb.SchedulePatch) error {
	_, err := onSchedule(ctx, name, doing, c.temporal.WorkflowService().PatchSchedule, &workflowservice.PatchScheduleRequest{
		Namespace: c.cfg.Namespace, ScheduleId: name, Patch: patch, Identity: c.cfg.By.Identity, RequestId: uuid.NewString(),
	})
	return err
}

// TriggerSchedule has a schedule run now, paused or not. overlap takes the place of the schedule's own; empty: that
// holds. It returns the run once it has an agent, or after 5 s as far as it has come: without a workflow where it waits
// for another one, without an ID where it waits for a worker. It is refused where the policy leaves the run out.
func (c *Client) TriggerSchedule(ctx context.Context, name string, overlap Overlap) (ScheduleRun, error) {
	run := ScheduleRun{ScheduledRun: contract.ScheduledRun{Schedule: name, Status: domain.StatusPending}}
	if err := domain.CheckWord(overlap); err != nil {
		return run, invalid(err)
	}
	before, err := c.describeSchedule(ctx, name)
	known := map[string]bool{}
	for _, a := range before.GetInfo().GetRecentActions() {
		known[a.GetStartWorkflowResult().GetRunId()] = true
	}
	if err == nil {
		err = c.patchSchedule(ctx, name, "triggering", &schedulepb.SchedulePatch{TriggerImmediately: &schedulepb.TriggerImmediatelyRequest{OverlapPolicy: overlap.policy()}})
	}
	for until := time.Now().Add(5 * time.Second); err == nil && run.ID == "" && time.Now().Before(until); {
		if err := process.Pause(ctx, askAgain); err != nil {
			return run, fail(ctx, name, "waiting for schedule "+name+" to run", err)
		}
		now, err := c.describeSchedule(ctx, name)
		if err != nil {
			return run, err
		}
		i := slices.IndexFunc(now.GetInfo().GetRecentActions(), func(a *schedulepb.ScheduleActionResult) bool { return !known[a.GetStartWorkflowResult().GetRunId()] })
		switch {
		case i >= 0:
			run = c.scheduleRuns(ctx, name, now.GetInfo().GetRecentActions()[i:i+1])[0]
		case now.GetInfo().GetOverlapSkipped() > before.GetInfo().GetOverlapSkipped():
			return run, refused("schedule %s: a run is under way, and the overlap policy left this one out; stop that, or trigger with another policy", name).next("`schedule trigger %s --overlap BufferOne` runs after it", name)
		}
	}
	return run, err
}

// A DeletedSchedule says which schedule there is no more.
type DeletedSchedule struct {
	Name string `json:"name"`
	// Running are the agents of its runs that are under way, which go on.
	Running []string `json:"running"`
}

// DeleteSchedule deletes a schedule. Its agents stay, and those under way go on. It needs no worker.
func (c *Client) DeleteSchedule(ctx context.Context, name string) (DeletedSchedule, error) {
	d, err := c.describeSchedule(ctx, name)
	if err != nil {
		return DeletedSchedule{}, err
	}
	gone := DeletedSchedule{Name: name, Running: []string{}}
	for _, w := range d.GetInfo().GetRunningWorkflows() {
		run := c.scheduleRun(ctx, ScheduleRun{WorkflowID: w.GetWorkflowId(), FirstRunID: w.GetRunId()})
		if run.Open {
			gone.Running = append(gone.Running, cmp.Or(run.ID, run.WorkflowID))
		}
	}
	_, err = onSchedule(ctx, name, "deleting", c.temporal.WorkflowService().DeleteSchedule, &workflowservice.DeleteScheduleRequest{
		Namespace: c.cfg.Namespace, ScheduleId: name, Identity: c.cfg.By.Identity,
	})
	return gone, err
}
