package workflows_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// ofSession gives the session a budget.
func ofSession(budget domain.ExecutionBudget) func(*contract.SessionInput) {
	return func(in *contract.SessionInput) { in.Definition.SessionBudget = budget }
}

func extendsSession(env *testsuite.TestWorkflowEnvironment, at time.Duration, id string, budget domain.ExecutionBudget) *verdict {
	return updates(env, at, contract.UpdateExtendSession, id, contract.ExtendSessionRequest{Budget: budget})
}

// pairs is a world whose executions take two steps each: a call, and an answer.
func pairs() *world {
	return &world{tools: reads(), tool: saw, model: func(r contract.ModelRequest) (contract.ModelReply, error) {
		if r.Step%2 == 1 {
			return says("", look()), nil
		}
		return says("done"), nil
	}}
}

// TestASessionsBudget bounds all its executions together: one that reaches it is stopped, nothing begins with nothing
// left, and a higher total lets both begin and go on.
func TestASessionsBudget(t *testing.T) {
	t.Parallel()
	w := pairs()
	env := w.environment(t)
	prompts(env, time.Hour, "two")
	var stopped account.Status
	env.RegisterDelayedCallback(func() { stopped = status(t, env) }, 61*time.Minute)
	refused := prompts(env, 2*time.Hour, "three")
	stuck := extends(env, 2*time.Hour+time.Minute, "u3", contract.ExtendRequest{})
	extended := extendsSession(env, 3*time.Hour, "u4", stepsOf(7))
	again := extendsSession(env, 3*time.Hour+time.Minute, "u5", stepsOf(7))
	wentOn := extends(env, 4*time.Hour, "u6", contract.ExtendRequest{})
	prompts(env, 5*time.Hour, "three")
	closes(env, 6*time.Hour)
	execute(env, input(t, "ann", ofSession(stepsOf(3))))

	require.Equal(t, domain.StatusStopped, stopped.Status)
	require.Equal(t, domain.StepsLimitReached, stopped.StopReason)
	require.Equal(t, []any{2, 1, int64(3), int64(0)}, []any{stopped.Number, stopped.Steps, *stopped.Ledger.Session.Limit.MaxSteps, *stopped.Ledger.Session.Left.MaxSteps})
	require.Equal(t, "session_budget", stopped.Signals[0].Source)
	require.Equal(t, "the session's max_steps is 3 and 3 are done", stopped.Signals[0].Message)
	require.Equal(t, domain.StepsDefault, stopped.Ledger.Own().Limit.MaxStepsFrom, "its own has the default, of which more is left")

	require.ErrorContains(t, refused.rejected, "send: nothing is left of the session's budget: the session's max_steps is 3 and 3 are done; "+
		"extend the session with a higher max_steps to go on (`extend ann --session --max-steps TOTAL`)")
	app, ok := errors.AsType[*temporal.ApplicationError](refused.rejected)
	require.True(t, ok)
	require.Equal(t, string(domain.Denied), app.Type())
	stuck.refused(t, "`extend ann --session --max-steps TOTAL`")
	require.Equal(t, contract.ExtendSessionReply{Number: 2, Account: domain.Holder{Budget: stepsOf(7), Spent: domain.Spent{Steps: 3, Tokens: 45, ToolCalls: 2}}}, extended.value)
	require.Equal(t, extended.value, again.value, "a repeat does no harm")
	require.NoError(t, wentOn.rejected)
	out := outcome(t, env)
	require.Equal(t, []any{4, domain.StatusCompleted, false}, []any{out.Number, out.Status, out.SessionLimit})
	require.Equal(t, domain.Spent{Steps: 7, Tokens: 105, ToolCalls: 4}, *out.SessionSpent)
	require.Len(t, w.asked, 7)
}

// TestTheSmallerBudgetBinds: whose limit it is that an execution reaches is told.
func TestTheSmallerBudgetBinds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		own, session domain.ExecutionBudget
		reason       domain.StopReason
		source       string
		steps        int
	}{
		"the session's":           {stepsOf(2), stepsOf(1), domain.StepsLimitReached, "session_budget", 1},
		"nothing at all":          {domain.ExecutionBudget{}, stepsOf(0), domain.StepsLimitReached, "session_budget", 0},
		"tokens that are too few": {domain.ExecutionBudget{}, tokensOf(20), domain.TokenLimitReached, "session_budget", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pairs()
			env := w.executed(t, input(t, "", ofSession(test.session), budgeted(test.own)))
			out := outcome(t, env)
			require.Equal(t, test.reason, out.StopReason)
			view := status(t, env)
			require.Equal(t, test.source, view.Signals[0].Source, view.Signals[0].Message)
			require.Equal(t, test.source == "session_budget", out.SessionLimit)
			require.Len(t, w.asked, test.steps)
		})
	}
}

// TestASessionIsExtendedWhileItWorks: the execution in progress goes on under the new totals.
func TestASessionIsExtendedWhileItWorks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request contract.ExtendSessionRequest
		says    string
		steps   int
	}{
		"more":    {contract.ExtendSessionRequest{Budget: stepsOf(10)}, "", 5},
		"less":    {contract.ExtendSessionRequest{Budget: stepsOf(1)}, "", 2},
		"nothing": {contract.ExtendSessionRequest{}, "no new total of the session is given", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := strolls(4)
			env := w.environment(t)
			v := updates(env, 90*time.Second, contract.UpdateExtendSession, "e1", test.request)
			execute(env, input(t, "", ofSession(stepsOf(3))))
			out := outcome(t, env)
			require.Equal(t, test.steps, out.Steps)
			if test.says != "" {
				v.refused(t, test.says)
				return
			}
			require.True(t, v.value.(contract.ExtendSessionReply).InProgress)
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		env := strolls(4).environment(t)
		v := extendsSession(env, 90*time.Second, "e1", stepsOf(9))
		execute(env, input(t, ""))
		require.Nil(t, outcome(t, env).SessionSpent)
		v.refused(t, "the session has no budget")
	})
}

// TestAnUpdateChangesTheSessionsBudget from the next execution on: what was spent under one stays spent, and what came
// before the first is not counted.
func TestAnUpdateChangesTheSessionsBudget(t *testing.T) {
	t.Parallel()
	w := pairs()
	env := w.environment(t)
	gives := func(at time.Duration, id string, budget domain.ExecutionBudget, fields ...string) *verdict {
		return redefines(env, at, id, contract.UpdateRequest{Definition: domain.Definition{SystemPrompt: "x" + id, SessionBudget: budget}, Fields: fields})
	}
	early := extendsSession(env, time.Hour, "e", stepsOf(9))
	first := gives(2*time.Hour, "first", stepsOf(2), "session_budget")
	prompts(env, 3*time.Hour, "two")
	refused := prompts(env, 4*time.Hour, "three")
	other := gives(5*time.Hour, "other", stepsOf(9), "system_prompt")
	still := prompts(env, 6*time.Hour, "three")
	gives(7*time.Hour, "more", stepsOf(3), "session_budget")
	prompts(env, 8*time.Hour, "three")
	extendsSession(env, 9*time.Hour, "e2", stepsOf(5))
	gives(9*time.Hour+time.Minute, "other2", domain.ExecutionBudget{}, "system_prompt")
	prompts(env, 9*time.Hour+2*time.Minute, "four")
	back := gives(10*time.Hour, "back", stepsOf(3), "session_budget")
	spent := prompts(env, 11*time.Hour, "four")
	gives(12*time.Hour, "none", domain.ExecutionBudget{}, "session_budget")
	prompts(env, 13*time.Hour, "four")
	closes(env, 14*time.Hour)
	execute(env, input(t, "ann"))

	early.refused(t, "`update ann` gives it one")
	require.Equal(t, []string{"session_budget"}, first.value.(contract.Change).Fields)
	refused.refused(t, "max_steps is 2 and 2 are done")
	require.NotContains(t, other.value.(contract.Change).Fields, "session_budget")
	require.Error(t, still.rejected)
	require.Contains(t, back.value.(contract.Change).Fields, "session_budget", "who gives it means it")
	spent.refused(t, "max_steps is 3 and 5 are done")
	out := outcome(t, env)
	require.Equal(t, []any{5, domain.StatusCompleted, int64(7)}, []any{out.Number, out.Status, out.SessionSpent.Steps})
}

// TestAnUpdatedBudgetIsThatOfWhatGoesOn, though the old one is used up.
func TestAnUpdatedBudgetIsThatOfWhatGoesOn(t *testing.T) {
	t.Parallel()
	env := strolls(5).environment(t)
	redefines(env, time.Hour, "more", contract.UpdateRequest{Definition: domain.Definition{SessionBudget: stepsOf(9)}, Fields: []string{"session_budget"}})
	goesOn := extends(env, 2*time.Hour, "e", contract.ExtendRequest{Budget: stepsOf(20)})
	closes(env, 3*time.Hour)
	execute(env, input(t, "ann", ofSession(stepsOf(3))))
	goesOn.succeeds(t)
	endsWith(t, env, 2)
}

// TestAnUnnamedAgentsSessionGoesOn in another workflow, with what its executions have spent.
func TestAnUnnamedAgentsSessionGoesOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		totals domain.ExecutionBudget
		steps  int
	}{"with the old total": {stepsOf(1), 0}, "with a higher one": {stepsOf(2), 1}, "with enough": {stepsOf(9), 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := steady(2, false)
			first := w.executed(t, input(t, "", ofSession(stepsOf(1))))
			require.True(t, outcome(t, first).SessionLimit)
			in := wentOn(t, first, domain.ExecutionBudget{})
			state, err := domain.DecodeAgentState(in.Carry.State)
			require.NoError(t, err)
			state, err = state.WithSessionBudget(test.totals, state.UpdatedAt)
			require.NoError(t, err)
			in.Carry.State, err = state.EncodeFull()
			require.NoError(t, err)
			w.model = plays(says("two", look()), says("all done"))
			env := w.executed(t, in)
			out := outcome(t, env)
			require.Equal(t, []any{2, test.steps, int64(1 + test.steps), test.steps < 2}, []any{out.Number, out.Steps, out.SessionSpent.Steps, out.SessionLimit})
		})
	}
}

// TestAForgedAccount is refused: a fork begins with nothing spent, and nobody has spent less than that.
func TestAForgedAccount(t *testing.T) {
	t.Parallel()
	w := pairs()
	first := w.executed(t, input(t, ""))
	for account, says := range map[string]string{
		`{"budget":{"max_steps":1},"spent":{"steps":-9}}`: "session_account.spent.steps: is -9",
		`{"budget":{"max_steps":1}}`:                      "the state is none of a new agent",
		`null`:                                            "price.input: is -1",
	} {
		in := forkOf(t, first, 1)
		in.Carry.State = json.RawMessage(strings.Replace(string(in.Carry.State), `"llm_config":{`, `"llm_config":{"price":{"input_nano_usd":-1},`, 1))
		in.Carry.State = json.RawMessage(strings.Replace(string(in.Carry.State), "{", `{"session_account":`+account+",", 1))
		env := w.executed(t, in)
		require.ErrorContains(t, env.GetWorkflowError(), says)
	}
}
