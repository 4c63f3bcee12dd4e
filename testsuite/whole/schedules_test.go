package whole_test

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

const (
	quickRun = "turns: [{text: done}, {text: again}, {text: more}, {text: 'and more'}]"
)

// yearly is a time that does not come while a test runs.
var yearly = client.When{Cron: []string{"@yearly"}}

func (s *stack) schedules(t *testing.T, script string, change ...func(*client.Schedule)) client.ScheduleView {
	t.Helper()
	schedule := client.Schedule{
		Name: s.named("digest"), When: yearly, Start: client.Start{Prompt: "sum up", Definition: scripted(writeScript(t, script))},
	}
	for _, c := range change {
		c(&schedule)
	}
	view, err := s.agents.CreateSchedule(within(t), schedule)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = s.agents.DeleteSchedule(within(t), schedule.Name) })
	return view
}

func (s *stack) triggers(t *testing.T, name string, overlap client.Overlap) client.ScheduleRun {
	t.Helper()
	run, err := s.agents.TriggerSchedule(within(t), name, overlap)
	require.NoError(t, err)
	require.NotEmpty(t, run.WorkflowID, "it begins at once")
	return run
}

// runs waits until what is known of a schedule's runs is as asked for.
func (s *stack) runs(t *testing.T, name string, asked func([]client.ScheduleRun) bool) []client.ScheduleRun {
	t.Helper()
	var last client.ScheduleView
	defer func() {
		if t.Failed() {
			t.Logf("%+v", last)
		}
	}()
	require.Eventually(t, func() bool {
		var err error
		last, err = s.agents.Schedule(within(t), name)
		return err == nil && asked(last.Runs)
	}, patience, 50*time.Millisecond)
	return last.Runs
}

func ended(n int) func([]client.ScheduleRun) bool {
	return func(runs []client.ScheduleRun) bool {
		for _, r := range runs {
			if r.Open || !r.Status.Terminal() {
				return false
			}
		}
		return len(runs) == n
	}
}

func begun(n int) func([]client.ScheduleRun) bool {
	return func(runs []client.ScheduleRun) bool {
		return len(runs) == n && runs[n-1].Status == domain.StatusInProgress
	}
}

// TestEachRunOfAScheduleIsAnAgent of its own, which list finds by the schedule.
func TestEachRunOfAScheduleIsAnAgent(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	view := s.schedules(t, quickRun, func(c *client.Schedule) {
		c.When, c.Overlap = client.When{Every: contract.Span(time.Second)}, client.OverlapAllowAll
		c.Start.Budget.MaxSteps = new(int64(3))
	})
	require.Equal(t, "sum up", view.Prompt)
	require.Equal(t, int64(3), *view.Budget.MaxSteps)
	require.NotEmpty(t, view.NextRuns)
	require.Eventually(t, func() bool {
		now, err := s.agents.Schedule(within(t), view.Name)
		return err == nil && now.Begun >= 3
	}, patience, 100*time.Millisecond)
	changed, err := s.agents.PauseSchedule(within(t), view.Name, true, "enough")
	require.NoError(t, err)
	require.True(t, changed.Changed)
	paused := s.schedule(t, view.Name)
	require.Equal(t, []any{true, "enough"}, []any{paused.Paused, paused.Note})
	require.Empty(t, paused.NextRuns)
	runs := s.runs(t, view.Name, ended(min(paused.Begun, 10)))
	ids := map[string]bool{}
	for _, r := range runs {
		require.Equal(t, domain.StatusCompleted, r.Status)
		require.Equal(t, view.Name, r.Schedule)
		ids[r.ID] = true
		result := s.result(t, r.ID, 0)
		require.Equal(t, []any{"done", r.ExecutionID}, []any{result.Answer, result.Outcome.ExecutionID})
		for event, err := range s.agents.Events(within(t), r.ID, client.FollowOptions{}) {
			require.NoError(t, err)
			if began, ok := event.Data.(domain.AgentExecutionStarted); ok {
				require.Equal(t, view.Name, began.By.Schedule)
			}
		}
	}
	require.Len(t, ids, len(runs))
	require.Eventually(t, func() bool {
		found := map[string]bool{}
		for l, err := range s.agents.List(within(t), client.ListOptions{ListFilter: client.ListFilter{Schedule: view.Name, Roots: true}}) {
			require.NoError(t, err)
			require.Equal(t, []any{"", view.Name}, []any{l.ParentID, l.Schedule}, "the run is nobody's agent")
			found[l.ID] = true
		}
		return len(found) == paused.Begun
	}, patience, 100*time.Millisecond)
}

func TestWhatIsDueWhileARunIsUnderWay(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	name := s.schedules(t, slowLeaf).Name
	first := s.triggers(t, name, "")
	s.runs(t, name, begun(1))
	_, err := s.agents.TriggerSchedule(within(t), name, "")
	require.ErrorIs(t, err, &client.Error{Class: client.Refused}, "it is left out")
	view := s.schedule(t, name)
	require.Equal(t, []int{1, 1}, []int{view.Begun, view.Skipped})

	// CancelOther ends the agent as stopped, and begins then.
	_, err = s.agents.TriggerSchedule(within(t), name, client.OverlapCancelOther)
	require.NoError(t, err)
	runs := s.runs(t, name, begun(2))
	require.Equal(t, []any{first.FirstRunID, domain.StatusStopped, domain.UserRequested}, []any{runs[0].FirstRunID, runs[0].Status, runs[0].StopReason})
	require.Equal(t, domain.StatusStopped, s.result(t, runs[0].ID, 0).Outcome.Status)

	// TerminateOther ends it by force, and leaves nothing.
	_, err = s.agents.TriggerSchedule(within(t), name, client.OverlapTerminateOther)
	require.NoError(t, err)
	runs = s.runs(t, name, begun(3))
	require.Equal(t, []any{domain.StatusFailed, domain.CodeTerminated}, []any{runs[1].Status, runs[1].Code})
	require.Eventually(t, func() bool { return !s.running(within(t), runs[1].ID) }, patience, 20*time.Millisecond)

	// A delete tells what goes on; a stop of that ends the run too.
	deleted, err := s.agents.DeleteSchedule(within(t), name)
	require.NoError(t, err)
	require.Equal(t, []string{runs[2].ID}, deleted.Running)
	s.stops(t, runs[2].ID, client.StopOptions{Mode: contract.StopNow})
	require.Eventually(t, func() bool {
		d, err := s.temporal.DescribeWorkflowExecution(within(t), runs[2].WorkflowID, runs[2].FirstRunID)
		return err == nil && d.GetWorkflowExecutionInfo().GetCloseTime() != nil
	}, patience, 20*time.Millisecond)
}

// TestCronComesAsTheServerSays: the server reads a line as the check before does, and tells it as it was given.
func TestCronComesAsTheServerSays(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	made := 0
	for line, want := range map[string]string{
		"0 0 29 FEB MON":           "2044-02-29T00:00:00Z",
		"30 40 14 23 11 * 2099":    "2099-11-23T14:40:30Z",
		"5/20 3 1 1 * 2098":        "2098-01-01T03:05:00Z",
		"10-20/5,50 14 * 2 7 2097": "2097-02-03T14:10:00Z",
		"0 9 * 3 5-7 2096/4":       "2096-03-02T09:00:00Z",
		"*/7  0 25-31 dec sat,1":   "",
	} {
		made++
		view := s.schedules(t, quickRun, func(c *client.Schedule) {
			c.Name, c.When = s.named(fmt.Sprint("cron", made)), client.When{Cron: []string{line}}
		})
		require.Equal(t, []string{strings.Join(strings.Fields(line), " ")}, view.When.Cron)
		require.NotEmpty(t, view.NextRuns, line)
		if want != "" {
			require.Equal(t, want, view.NextRuns[0].Format(time.RFC3339), line)
		}
	}
}

func TestAFailedRunPausesItsSchedule(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	name := s.schedules(t, "turns: []", func(c *client.Schedule) { c.PauseOnFailure = true }).Name
	s.triggers(t, name, "")
	runs := s.runs(t, name, ended(1))
	require.Equal(t, domain.StatusFailed, runs[0].Status)
	require.Eventually(t, func() bool {
		view, err := s.agents.Schedule(within(t), name)
		return err == nil && view.Paused && view.Note != ""
	}, patience, 50*time.Millisecond)
	view := s.schedule(t, name)
	require.Contains(t, view.Note, "paused due to workflow failure")
	_, err := s.agents.PauseSchedule(within(t), name, false, "")
	require.NoError(t, err)
}

// TestDeletingWhatAScheduleBegan deletes the runs that began it too, and says that the schedule remains.
func TestDeletingWhatAScheduleBegan(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	session := s.named("secretive")
	own := s.schedules(t, quickRun).Name
	shared := s.schedules(t, quickRun, func(c *client.Schedule) { c.Name, c.Start.ID = s.named("shared"), session }).Name
	for _, name := range []string{own, shared} {
		s.triggers(t, name, "")
		run := s.runs(t, name, ended(1))[0]
		require.Eventually(t, func() bool {
			listed, err := s.temporal.ListWorkflow(within(t), &workflowservice.ListWorkflowExecutionsRequest{
				Query: fmt.Sprintf("WorkflowType = '%s' AND WorkflowId = '%s' AND ExecutionStatus = 'Completed'", contract.Scheduled, run.WorkflowID),
			})
			return err == nil && len(listed.GetExecutions()) == 1
		}, patience, 50*time.Millisecond)
		d, err := s.agents.Delete(within(t), run.ID, client.DeleteOptions{Close: run.Name != "", Partly: true})
		require.NoError(t, err)
		require.Equal(t, 2, d.Deleted.Runs, "the agent's, and that of the schedule")
		require.True(t, slices.ContainsFunc(d.Remains, func(r client.Remaining) bool { return r.Kind == client.RemainsInSchedule && r.ID == name }))
		_, err = s.temporal.DescribeWorkflowExecution(within(t), run.WorkflowID, run.FirstRunID)
		require.ErrorAs(t, err, new(*serviceerror.NotFound))
		view := s.schedule(t, name)
		require.True(t, view.Runs[0].Gone)
	}
}

// TestKillsChangeNoSchedule: each run comes once, and its end is told, wherever workers die.
func TestKillsChangeNoSchedule(t *testing.T) {
	long(t)
	t.Parallel()
	s := connect(t, "plain", nil)
	deaths := s.mortals(t)
	session := s.named("mortal")
	mortal := func(c *client.Schedule) { c.Start.Definition.Model.Provider = "mortal" }
	own := s.schedules(t, quickRun, mortal).Name
	shared := s.schedules(t, quickRun, mortal, func(c *client.Schedule) { c.Name, c.Start.ID = s.named("shared"), session }).Name
	for _, name := range []string{own, shared} {
		s.triggers(t, name, "")
		runs := s.runs(t, name, ended(1))
		require.Equal(t, []any{domain.StatusCompleted, 1}, []any{runs[0].Status, runs[0].Number})
	}
	s.triggers(t, shared, "")
	require.Equal(t, 2, s.runs(t, shared, ended(2))[1].Number)
	require.Positive(t, deaths.Load())
}

// TestSchedulesOfOthers are left alone.
func TestSchedulesOfOthers(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	name := s.schedules(t, quickRun).Name
	foreign := s.named("foreign")
	_, err := s.temporal.ScheduleClient().Create(within(t), sdk.ScheduleOptions{
		ID: foreign, Spec: sdk.ScheduleSpec{CronExpressions: []string{"@yearly"}}, Action: &sdk.ScheduleWorkflowAction{ID: "x", Workflow: "other", TaskQueue: s.queue},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.temporal.ScheduleClient().GetHandle(within(t), foreign).Delete(within(t)) })
	_, err = s.agents.DeleteSchedule(within(t), foreign)
	require.ErrorIs(t, err, &client.Error{Class: client.Refused})
	require.Eventually(t, func() bool {
		var names []string
		for _, listed := range collect(t, s.agents.Schedules(within(t))) {
			names = append(names, listed.Name)
		}
		require.NotContains(t, names, foreign)
		return slices.Contains(names, name)
	}, patience, 100*time.Millisecond)
}

// TestALargeScheduleRuns: what it may keep for its runs, the server takes.
func TestALargeScheduleRuns(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	random := make([]byte, 450_000)
	_, _ = rand.Read(random)
	name := s.schedules(t, quickRun, func(c *client.Schedule) { c.Start.Prompt = hex.EncodeToString(random) }).Name
	s.triggers(t, name, "")
	require.Equal(t, domain.StatusCompleted, s.runs(t, name, ended(1))[0].Status)
	require.Len(t, s.schedule(t, name).Prompt, 900_000)
}

// TestAScheduleIsUpdated: what is given is another at once, for show, list and the next run, and the rest stays.
func TestAScheduleIsUpdated(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	view := s.schedules(t, quickRun, func(c *client.Schedule) {
		c.Start.Budget.MaxSteps, c.PauseOnFailure, c.Start.Trusted = new(int64(3)), true, domain.Trusted{"customer": []byte(`4711`)}
	})
	_, err := s.agents.PauseSchedule(within(t), view.Name, true, "for now")
	require.NoError(t, err)
	other, session := scripted(writeScript(t, quickRun)).Model, s.named("watcher")
	updated, err := s.agents.UpdateSchedule(within(t), view.Name, func(c *client.Schedule) error {
		c.When = client.When{Cron: []string{"0 8 1 1 *", "0 9 1 1 *"}, TimeZone: "Europe/Berlin"}
		c.Start.Prompt, c.Start.ID, c.Start.Definition.Model, c.Model = "sum it up", session, other, &other
		c.Paused = false
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []any{"sum it up", session, "Europe/Berlin"}, []any{updated.Prompt, updated.Session, updated.When.TimeZone})
	require.Equal(t, []any{true, "for now", true, int64(3), "4711"}, []any{updated.Paused, updated.Note, updated.PauseOnFailure, *updated.Budget.MaxSteps, string(updated.Trusted["customer"])}, "what nobody named stays")
	require.Eventually(t, func() bool {
		for one, err := range s.agents.Schedules(within(t)) {
			if err == nil && one.Name == view.Name && one.Session == session {
				return one.Model == other.String() && slices.Equal(one.When.Cron, updated.When.Cron)
			}
		}
		return false
	}, patience, 100*time.Millisecond, "list tells it too")
	require.Equal(t, session, s.triggers(t, view.Name, "").ID)
	s.runs(t, view.Name, ended(1))
	require.Equal(t, other.String(), s.status(t, session).Configuration.Model)

}

// TestNoUpdateOfAScheduleIsLost, though others update and pause it at the same time.
func TestNoUpdateOfAScheduleIsLost(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	view := s.schedules(t, quickRun)
	var others sync.WaitGroup
	for hour := range 3 {
		others.Go(func() {
			_, err := s.agents.UpdateSchedule(within(t), view.Name, func(c *client.Schedule) error {
				c.When.Cron = append(c.When.Cron, fmt.Sprintf("0 %d 1 1 *", hour))
				return nil
			})
			assert.NoError(t, err)
		})
	}
	others.Go(func() {
		_, err := s.agents.PauseSchedule(within(t), view.Name, true, "holidays")
		assert.NoError(t, err)
	})
	others.Wait()
	now := s.schedule(t, view.Name)
	require.ElementsMatch(t, []string{"@yearly", "0 0 1 1 *", "0 1 1 1 *", "0 2 1 1 *"}, now.When.Cron)
	require.True(t, now.Paused)

	calls := 0
	_, err := s.agents.UpdateSchedule(within(t), view.Name, func(c *client.Schedule) error {
		if calls++; calls == 1 { // somebody is faster
			_, err := s.agents.PauseSchedule(within(t), view.Name, false, "")
			assert.NoError(t, err)
		}
		c.Start.Prompt = "after all"
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, calls, "it was asked again")
	now = s.schedule(t, view.Name)
	require.Equal(t, []any{"after all", false}, []any{now.Prompt, now.Paused})
}
