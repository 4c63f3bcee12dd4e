package workflows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
)

// scheduledInput is what a schedule starts a run with: of the session of a name, or of none.
func scheduledInput(t *testing.T, name string) contract.ScheduledInput {
	t.Helper()
	return contract.ScheduledInput{Schedule: "digest", Start: input(t, name, func(in *contract.SessionInput) {
		if name == "" {
			in.AgentID = domain.AgentID{}
		}
	})}
}

func ran(t *testing.T, env *testsuite.TestWorkflowEnvironment) contract.ScheduledRun {
	t.Helper()
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	var run contract.ScheduledRun
	require.NoError(t, env.GetWorkflowResult(&run))
	return run
}

// memosOf are the memos of a run, in their order.
func memosOf(env *testsuite.TestWorkflowEnvironment) *[]contract.ScheduledRun {
	var all []contract.ScheduledRun
	env.OnUpsertMemo(mock.Anything).Return(nil).Run(func(args mock.Arguments) {
		if run, ok := args.Get(0).(map[string]any)[contract.MemoScheduled].(contract.ScheduledRun); ok {
			all = append(all, run)
		}
	})
	return &all
}

func TestARunHasAnAgentOfItsOwn(t *testing.T) {
	t.Parallel()
	w := &world{model: repeats(says("done"))}
	env := w.environment(t)
	memos := memosOf(env)
	env.ExecuteWorkflow(string(contract.Scheduled), scheduledInput(t, ""))
	run := ran(t, env)
	require.Equal(t, domain.ScheduledAgent(""), run.AgentID)
	require.Equal(t, []any{"digest", domain.StatusCompleted, domain.Completed, 1, 1}, []any{run.Schedule, run.Status, run.StopReason, run.Number, run.Steps})
	require.Len(t, w.asked, 1)
	var statuses []domain.ExecutionStatus
	for _, m := range *memos {
		statuses = append(statuses, m.Status)
	}
	require.Equal(t, []domain.ExecutionStatus{domain.StatusInProgress, domain.StatusCompleted}, statuses)
	require.Equal(t, run, (*memos)[1])
}

func TestARunFailsWithItsExecution(t *testing.T) {
	t.Parallel()
	w := &world{model: repeats(says(""))}
	env := w.environment(t)
	memos := memosOf(env)
	env.ExecuteWorkflow(string(contract.Scheduled), scheduledInput(t, ""))
	require.ErrorContains(t, env.GetWorkflowError(), "execution 1 of agent "+domain.ScheduledAgent("").String()+" failed (empty_response)")
	last := (*memos)[len(*memos)-1]
	require.Equal(t, []any{domain.StatusFailed, domain.CodeEmptyResponse}, []any{last.Status, last.Code})

	env = w.environment(t)
	bad := scheduledInput(t, "")
	bad.Start.Definition.Model.Provider = ""
	memos = memosOf(env)
	env.ExecuteWorkflow(string(contract.Scheduled), bad)
	require.ErrorContains(t, env.GetWorkflowError(), "model")
	last = (*memos)[len(*memos)-1]
	require.Equal(t, []any{domain.StatusFailed, domain.Invalid}, []any{last.Status, last.Kind}, "what its worker refuses")
}

func TestACancelledRunStopsItsAgent(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(busy())}
	env := w.environment(t)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
	env.ExecuteWorkflow(string(contract.Scheduled), scheduledInput(t, ""))
	run := ran(t, env)
	require.Equal(t, []any{domain.StatusStopped, domain.UserRequested}, []any{run.Status, run.StopReason})
}

// sessions is a world in which a schedule's messages meet these states, one after another, the last from then on.
func sessions(states ...contract.SessionState) (w *world, sent *[]contract.SessionMessage) {
	sent = new([]contract.SessionMessage)
	w = &world{model: repeats(says("done"))}
	w.send = func(m contract.SessionMessage) (contract.SessionReply, error) {
		*sent = append(*sent, m)
		state := states[min(len(*sent), len(states))-1]
		reply := contract.SessionReply{State: state}
		if state == contract.SessionBegan {
			reply.Reply = contract.SendReply{ExecutionID: inSession, Number: 7, RunID: "run", Began: true}
		}
		return reply, nil
	}
	w.follow = func(r contract.FollowRequest) (contract.FollowReply, error) {
		return contract.FollowReply{Outcome: &contract.Outcome{ExecutionID: r.ExecutionID, Number: r.Number, Status: domain.StatusCompleted, StopReason: domain.Completed}}, nil
	}
	return w, sent
}

var inSession = domain.ScheduledAgent("x").Execution("run", 7)

func TestARunSendsToAnOpenSession(t *testing.T) {
	t.Parallel()
	w, sent := sessions(contract.SessionBusy, contract.SessionBusy, contract.SessionBegan)
	looks := 0
	w.follow = func(r contract.FollowRequest) (contract.FollowReply, error) {
		if looks++; looks < 100 {
			return contract.FollowReply{}, nil
		}
		return contract.FollowReply{Outcome: &contract.Outcome{ExecutionID: r.ExecutionID, Number: r.Number, Status: domain.StatusStopped, StopReason: domain.StepsLimitReached}}, nil
	}
	env := w.environment(t)
	in := scheduledInput(t, "ann")
	in.Model = &domain.LLMConfig{Provider: "scripted", Model: "/y"}
	began := env.Now()
	env.ExecuteWorkflow(string(contract.Scheduled), in)
	run := ran(t, env)
	require.Equal(t, []any{"ann", inSession, 7, domain.StatusStopped}, []any{run.Name, run.ExecutionID, run.Number, run.Status})
	require.Len(t, *sent, 3)
	for _, m := range *sent {
		require.Equal(t, (*sent)[0], m, "the same message, once however often it is sent")
		require.True(t, m.Request.IfIdle)
		require.Equal(t, []any{"hello", "/y", true}, []any{m.Request.Prompt, m.Request.Model.Model, m.Request.Definition == nil})
	}
	require.Greater(t, run.EndedAt.Sub(began), time.Hour, "looks get rarer")
	require.Empty(t, w.asked, "no session is opened")
}

func TestARunOpensASession(t *testing.T) {
	t.Parallel()
	w, _ := sessions(contract.SessionClosed)
	env := w.environment(t)
	in := scheduledInput(t, "ann")
	in.Start.Definition.IdleTimeout = time.Hour // or the environment waits for it
	env.ExecuteWorkflow(string(contract.Scheduled), in)
	run := ran(t, env)
	require.Equal(t, []any{"ann", 1, domain.StatusCompleted}, []any{run.Name, run.Number, run.Status})
	require.Len(t, w.asked, 1)
}

// TestACancelledRunStopsItsExecution in a session by a signal, and waits for its end.
func TestACancelledRunStopsItsExecution(t *testing.T) {
	t.Parallel()
	w, _ := sessions(contract.SessionBegan)
	stopped := false
	w.follow = func(r contract.FollowRequest) (contract.FollowReply, error) {
		if !stopped {
			return contract.FollowReply{}, nil
		}
		return contract.FollowReply{Outcome: &contract.Outcome{ExecutionID: r.ExecutionID, Number: r.Number, Status: domain.StatusStopped, StopReason: domain.UserRequested}}, nil
	}
	env := w.environment(t)
	env.OnSignalExternalWorkflow("default-test-namespace", "agent/ann", "", string(contract.SignalStop), contract.StopRequest{
		Mode: contract.StopNow, ExecutionID: inSession, Reason: "the run of its schedule was cancelled", Source: "schedule",
	}).Return(func(string, string, string, string, any) error { stopped = true; return nil }).Once()
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
	env.ExecuteWorkflow(string(contract.Scheduled), scheduledInput(t, "ann"))
	run := ran(t, env)
	require.Equal(t, []any{domain.StatusStopped, domain.UserRequested}, []any{run.Status, run.StopReason})
	env.AssertExpectations(t)
}

func TestARunCancelledBeforeItBegan(t *testing.T) {
	t.Parallel()
	w, sent := sessions(contract.SessionBusy)
	env := w.environment(t)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
	env.ExecuteWorkflow(string(contract.Scheduled), scheduledInput(t, "ann"))
	run := ran(t, env)
	require.Equal(t, []any{domain.StatusStopped, 0}, []any{run.Status, run.Number})
	require.True(t, slices.ContainsFunc(*sent, func(m contract.SessionMessage) bool { return m.Name == "ann" }))
}

func TestARunThatASessionRefuses(t *testing.T) {
	t.Parallel()
	w, _ := sessions(contract.SessionBegan)
	suspended := domain.Deniedf("send: the session is suspended")
	w.send = func(contract.SessionMessage) (contract.SessionReply, error) {
		return contract.SessionReply{}, refused(suspended)
	}
	env := w.environment(t)
	memos := memosOf(env)
	env.ExecuteWorkflow(string(contract.Scheduled), scheduledInput(t, "ann"))
	require.ErrorContains(t, env.GetWorkflowError(), "the session is suspended")
	last := (*memos)[len(*memos)-1]
	require.Equal(t, []any{domain.StatusFailed, domain.Denied, 0}, []any{last.Status, last.Kind, last.Number})
}
