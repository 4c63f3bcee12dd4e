package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// idlesAnHour has a session close itself when nobody has spoken to it for an hour.
func idlesAnHour(in *contract.SessionInput) { in.Definition.IdleTimeout = time.Hour }

// TestASuspendedSession accepts nothing; the execution in progress comes to its end, and what waits begins none until the
// session is unsuspended.
func TestASuspendedSession(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(busy(), says("one"), says("two"))}
	env := w.environment(t)
	sends(env, time.Minute, "u1", queued("later"))
	first := updates(env, 2*time.Minute, contract.UpdateSuspend, "u2", contract.SuspendRequest{Reason: "an audit", By: "ann"})
	again := updates(env, 3*time.Minute, contract.UpdateSuspend, "u3", contract.SuspendRequest{})
	steered := sends(env, 4*time.Minute, "u4", steer("more"))
	idle := prompts(env, 2*time.Hour, "more")
	shut := closes(env, 2*time.Hour)
	var held account.Status
	env.RegisterDelayedCallback(func() { held = status(t, env) }, 3*time.Hour)
	lifted := updates(env, 4*time.Hour, contract.UpdateUnsuspend, "u7", contract.UnsuspendRequest{})
	closes(env, 5*time.Hour)
	execute(env, input(t, "ann"))
	endsWith(t, env, 2)
	require.Equal(t, contract.SuspendReply{Changed: true, Busy: true}, first.value)
	require.Equal(t, contract.SuspendReply{Busy: true}, again.value)
	for _, v := range []*verdict{steered, idle} {
		v.refused(t, "suspended since")
		v.refused(t, "(an audit); unsuspend it first")
	}
	shut.refused(t, "1 messages wait")
	require.Equal(t, []any{"an audit", "ann"}, []any{held.Suspended.Reason, held.Suspended.By})
	require.Equal(t, 1, held.Number)
	require.Len(t, held.Unread, 1)
	require.Equal(t, contract.SuspendReply{Changed: true}, lifted.value)
	require.Equal(t, []string{"user: hello", "assistant: one", "user: later", "assistant: two"}, spoken(t, env))
}

// TestAClearedConversation is seen by no model any more, and stays readable. What the session is, and what it has used, stays.
func TestAClearedConversation(t *testing.T) {
	t.Parallel()
	w := &world{tools: reads(), tool: saw, model: plays(busy(), says("looking", look()), says("one"), says("two"), says("three"))}
	env := w.environment(t)
	early := updates(env, time.Minute, contract.UpdateClear, "u1", contract.ClearRequest{})
	cleared := updates(env, 2*time.Hour, contract.UpdateClear, "u2", contract.ClearRequest{})
	gone := updates(env, 2*time.Hour, contract.UpdateExtend, "u3", contract.ExtendRequest{})
	prompts(env, 3*time.Hour, "anew")
	prompts(env, 4*time.Hour, "on")
	closes(env, 5*time.Hour)
	execute(env, input(t, "ann"))
	out := outcome(t, env)
	require.Equal(t, 3, out.Number)
	early.refused(t, "in progress")
	require.Equal(t, contract.ClearReply{Messages: 4}, cleared.value)
	require.Error(t, gone.rejected)
	require.Len(t, spoken(t, env), 8, "all of it can still be read")
	require.Equal(t, domain.Edits{Cleared: 4, Hidden: 4, TakenBack: []domain.Span{{To: 4, By: 2, Cleared: true}}}, w.asked[3].Edits)
	require.Equal(t, domain.Edits{Cleared: 4, Hidden: 4, TakenBack: []domain.Span{{To: 4, By: 2, Cleared: true}}}, w.asked[4].Edits)
	require.Equal(t, 3, w.asked[4].Inference, "the conversation is the same one")
	entries := entriesIn(t, env)
	shown := domain.CompileEdited(domain.CurrentTrace, nil, entries[:7], []domain.ExecutionID{out.ExecutionID}, w.asked[4].Edits)
	require.Equal(t, []string{"anew", "two", "on"}, []string{shown[0].Text(), shown[1].Text(), shown[2].Text()})
}

// TestAnAgentMayReadItsOwnPast: that of its session, since a person cleared it.
func TestAnAgentMayReadItsOwnPast(t *testing.T) {
	t.Parallel()
	ask := func() domain.ToolCall {
		return domain.ToolCall{ID: "same", Name: domain.HistoryTool, Arguments: "{}"}
	}
	w := &world{tools: []domain.ToolSpec{{Name: domain.HistoryTool, Effect: domain.ReadOnly}, {Name: "look", Effect: domain.ReadOnly}}, tool: saw,
		model: plays(says("", ask(), look()), says("one"), says("", ask()), says("two"))}
	env := w.environment(t)
	updates(env, time.Hour, contract.UpdateClear, "u1", contract.ClearRequest{})
	prompts(env, 2*time.Hour, "anew")
	closes(env, 3*time.Hour)
	execute(env, input(t, "ann", func(in *contract.SessionInput) { in.Definition.Tools = []string{domain.HistoryTool, "look"} }))
	endsWith(t, env, 2)
	require.Len(t, w.ran, 3)
	asked := map[int]*domain.EarlierExecutions{}
	for i, request := range w.ran {
		if asked[i] = request.Earlier; request.Name == "look" {
			require.Nil(t, request.Earlier)
			delete(asked, i)
		}
	}
	last := w.ran[2].Earlier
	require.Equal(t, []domain.Span{{To: 5, By: 2, Cleared: true}}, last.TakenBack)
	require.Equal(t, w.ran[2].ExecutionID, input(t, "ann").AgentID.Execution(last.FirstRunID, 2))
	delete(asked, 2)
	require.Len(t, asked, 1)
	for _, first := range asked {
		require.Empty(t, first.TakenBack)
	}
}

// TestPeopleKeepAnIdleSessionOpen, which else closes itself: whatever they say to it or of it, and is taken, begins its time anew, also over a change of runs.
// What is refused does not.
func TestPeopleKeepAnIdleSessionOpen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		says func(env *testsuite.TestWorkflowEnvironment, at time.Duration)
		open float64
	}{
		"nothing": {func(*testsuite.TestWorkflowEnvironment, time.Duration) {}, 60},
		"unsuspended": {func(env *testsuite.TestWorkflowEnvironment, at time.Duration) {
			updates(env, at-time.Minute, contract.UpdateSuspend, "u1", contract.SuspendRequest{})
			updates(env, at, contract.UpdateUnsuspend, "u2", contract.UnsuspendRequest{})
		}, 100},
		"refused": {func(env *testsuite.TestWorkflowEnvironment, at time.Duration) {
			updates(env, at, contract.UpdateExtend, "u1", contract.ExtendRequest{})
		}, 60},
		"long ago": {func(env *testsuite.TestWorkflowEnvironment, at time.Duration) {
			updates(env, 0, contract.UpdateSuspend, "u1", contract.SuspendRequest{})
			updates(env, 0, contract.UpdateUnsuspend, "u2", contract.UnsuspendRequest{})
		}, 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: repeats(says("done"))}
			env := w.environment(t)
			began := env.Now()
			test.says(env, 40*time.Minute)
			execute(env, input(t, "ann", idlesAnHour))
			require.True(t, outcome(t, env).Closed)
			require.InDelta(t, test.open, env.Now().Sub(began).Minutes(), 1)
		})
	}
}

// TestAnUpdatedIdleTimeout holds from the next execution on, as all of an update does, and not from the next run on.
func TestAnUpdatedIdleTimeout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, after time.Duration
		open          float64
	}{
		"given":      {0, time.Hour, 90},
		"longer":     {time.Hour, 2 * time.Hour, 150},
		"shorter":    {time.Hour, 20 * time.Minute, 50},
		"taken away": {time.Hour, 0, 24 * 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := deployed(offers("look"))
			w.model = repeats(says("done"))
			env := w.environment(t)
			began := env.Now()
			took := redefines(env, 20*time.Minute, "u1", contract.UpdateRequest{Definition: domain.Definition{IdleTimeout: test.after}, Fields: []string{"idle_timeout"}})
			prompts(env, 30*time.Minute, "more")
			if test.after == 0 {
				closes(env, 24*time.Hour)
			}
			execute(env, input(t, "ann", func(in *contract.SessionInput) { in.Definition.IdleTimeout = test.before }))
			require.NoError(t, took.rejected)
			out := outcome(t, env)
			require.Equal(t, 2, out.Number)
			require.True(t, out.Closed)
			require.InDelta(t, test.open, env.Now().Sub(began).Minutes(), 1)
		})
	}
}

// TestASuspendedSessionStaysOpen past its time, and says so.
func TestASuspendedSessionStaysOpen(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(says("one"))}
	env := w.environment(t)
	began := env.Now()
	updates(env, time.Minute, contract.UpdateSuspend, "u1", contract.SuspendRequest{})
	var held account.Status
	env.RegisterDelayedCallback(func() { held = status(t, env) }, 3*time.Hour)
	updates(env, 4*time.Hour, contract.UpdateUnsuspend, "u2", contract.UnsuspendRequest{})
	execute(env, input(t, "ann", idlesAnHour))
	require.True(t, outcome(t, env).Closed)
	require.Contains(t, held.Doing, "open all the same")
	require.InDelta(t, 300, env.Now().Sub(began).Minutes(), 1)
}
