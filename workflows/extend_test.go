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

func extends(env *testsuite.TestWorkflowEnvironment, at time.Duration, id string, request contract.ExtendRequest) *verdict {
	return updates(env, at, contract.UpdateExtend, id, request)
}

// strolls is a world whose model makes steps of a minute each, and is done after
// a number of them.
func strolls(steps int) *world {
	waited := map[int]bool{}
	return &world{tools: reads(), tool: saw, model: func(r contract.ModelRequest) (contract.ModelReply, error) {
		if !waited[r.Inference] {
			waited[r.Inference] = true
			return with(waits(time.Minute), func(reply *contract.ModelReply) { reply.Spent = domain.Usage{} }), nil
		}
		if r.Inference >= steps {
			return says("done"), nil
		}
		return says("", look()), nil
	}}
}

// TestExtendARunningExecution: the new totals are in force at once.
func TestExtendARunningExecution(t *testing.T) {
	t.Parallel()
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	until := func(d time.Duration) domain.ExecutionBudget {
		return domain.ExecutionBudget{Deadline: new(began.Add(d))}
	}
	for name, test := range map[string]struct {
		budget  domain.ExecutionBudget
		request contract.ExtendRequest
		reason  domain.StopReason
		steps   int
	}{
		"enough steps":           {stepsOf(2), contract.ExtendRequest{Budget: stepsOf(10)}, domain.Completed, 5},
		"fewer steps":            {stepsOf(10), contract.ExtendRequest{Budget: stepsOf(1)}, domain.StepsLimitReached, 2},
		"more tokens":            {tokensOf(300), contract.ExtendRequest{Budget: tokensOf(100_000)}, domain.Completed, 5},
		"no limit of seconds":    {secondsOf(120.0), contract.ExtendRequest{Lift: []domain.Limit{domain.LimitSeconds}}, domain.Completed, 5},
		"fewer than are over":    {domain.ExecutionBudget{}, contract.ExtendRequest{Budget: secondsOf(5.0)}, domain.TimeLimitReached, 2},
		"an earlier deadline":    {until(time.Hour), contract.ExtendRequest{Budget: until(150 * time.Second)}, domain.TimeLimitReached, 3},
		"a total and one lifted": {stepsOf(2), contract.ExtendRequest{Budget: stepsOf(4), Lift: []domain.Limit{domain.LimitSteps}}, domain.StepsLimitReached, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := strolls(4)
			env := w.environment(t)
			env.SetStartTime(began)
			v := extends(env, 90*time.Second, "e1", test.request)
			execute(env, input(t, "", budgeted(test.budget)))
			v.succeeds(t)
			out := outcome(t, env)
			require.Equal(t, test.reason, out.StopReason)
			require.Equal(t, test.steps, out.Steps)
			reply := v.value.(contract.ExtendReply)
			require.False(t, reply.Began)
			require.Equal(t, out.ExecutionID, reply.ExecutionID)
			require.Equal(t, status(t, env).Ledger.Own().Limit, reply.Budget)
		})
	}
}

// TestWhatExtendRefuses says why, and changes nothing.
func TestWhatExtendRefuses(t *testing.T) {
	t.Parallel()
	past := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	more := contract.ExtendRequest{Budget: stepsOf(9)}
	for name, test := range map[string]struct {
		at      time.Duration
		request contract.ExtendRequest
		says    string
	}{
		"a deadline that is over": {30 * time.Second, contract.ExtendRequest{Budget: domain.ExecutionBudget{Deadline: &past}}, "deadline"},
		"money without a price":   {30 * time.Second, contract.ExtendRequest{Budget: costOf(5)}, "nobody knows what"},
		"another execution":       {30 * time.Second, contract.ExtendRequest{Budget: stepsOf(9), ExecutionID: input(t, "ann").AgentID.Execution("x", 7)}, "is not the newest"},
		"one that is stopping":    {50 * time.Second, more, "is stopping"},
		"one that completed":      {2 * time.Hour, more, "completed; send the agent a message instead"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := strolls(0)
			env := w.environment(t)
			if name == "one that is stopping" {
				w.model, w.tool = calling(look()), breaks(comesAgain(time.Minute))
				stopsWith(env, 40*time.Second, contract.StopRequest{})
			}
			v := extends(env, test.at, "e1", test.request)
			closes(env, 3*time.Hour)
			execute(env, input(t, "ann", budgeted(stepsOf(7))))
			v.refused(t, test.says)
			require.False(t, v.accepted)
			endsWith(t, env, 1)
			require.Equal(t, int64(7), *status(t, env).Ledger.Own().Limit.MaxSteps)
		})
	}
}

// TestASessionGoesOn from an execution that stopped or failed, with or without
// new totals: what was used counts, the steps are counted anew, and the model
// sees what was done.
func TestASessionGoesOn(t *testing.T) {
	t.Parallel()
	refused := domain.CodedErrorf(domain.Denied, domain.CodeAuth, "no")
	for name, test := range map[string]struct {
		budget  domain.ExecutionBudget
		fails   bool
		request contract.ExtendRequest
		reason  domain.StopReason
		steps   int
		prior   domain.Spent
	}{
		"enough steps":            {stepsOf(2), false, contract.ExtendRequest{Budget: stepsOf(9)}, domain.Completed, 3, domain.Spent{Steps: 2, Tokens: 30, ToolCalls: 2}},
		"more calls":              {domain.ExecutionBudget{MaxToolCalls: number(2), MaxSteps: number(2)}, false, contract.ExtendRequest{Budget: domain.ExecutionBudget{MaxToolCalls: number(3), MaxSteps: number(9)}}, domain.ToolCallLimitReached, 2, domain.Spent{Steps: 2, Tokens: 30, ToolCalls: 2}},
		"after one, with a limit": {domain.ExecutionBudget{}, true, contract.ExtendRequest{Budget: stepsOf(4)}, domain.StepsLimitReached, 1, domain.Spent{Steps: 3, Tokens: 30, ToolCalls: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: reads(), tool: saw}
			failed := !test.fails
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				if r.Inference == 2 && !failed {
					failed = true
					return contract.ModelReply{Outcome: contract.BilledFailure, Error: refused, Tries: 1}, nil
				}
				if r.Inference >= 4 {
					return says("done"), nil
				}
				return says("", look()), nil
			}
			env := w.environment(t)
			v := extends(env, time.Hour, "e1", test.request)
			var first account.Execution
			var steps []domain.StepExecution
			env.RegisterDelayedCallback(func() { first, steps = executionIn(t, env, 0), stepsIn(t, env, 0) }, time.Minute)
			closes(env, 2*time.Hour)
			execute(env, input(t, "ann", budgeted(test.budget)))
			require.NoError(t, v.rejected)
			out := outcome(t, env)
			require.Equal(t, 2, out.Number)
			require.Equal(t, test.reason, out.StopReason)
			require.Equal(t, test.steps, out.Steps)
			reply := v.value.(contract.ExtendReply)
			require.True(t, reply.Began)
			require.Equal(t, out.ExecutionID, reply.ExecutionID)
			require.Equal(t, out.Number, reply.Number)
			require.NotEqual(t, first.ExecutionID, out.ExecutionID)

			status := status(t, env)
			require.Equal(t, first.ExecutionID, status.Origin.ExecutionID)
			status.Prior.Seconds = 0
			require.Equal(t, test.prior, status.Prior)
			require.Equal(t, int64(15*test.steps), status.Usage.TotalTokens(), "usage is the execution's own")
			require.Equal(t, steps, stepsIn(t, env, 1), "the old one is untouched")
			for _, step := range stepsIn(t, env, 0) {
				require.Equal(t, 1, step.Step.Number, "steps are counted from 1")
				break
			}
			for _, r := range w.asked {
				if r.ExecutionID == out.ExecutionID {
					require.Equal(t, []domain.ExecutionID{first.ExecutionID}, r.Origins)
				}
			}
		})
	}
}

// TestGoingOnWithNothingLeft is refused, and says which limit is in the way.
func TestGoingOnWithNothingLeft(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]contract.ExtendRequest{
		"without totals": {}, "with the same": {Budget: stepsOf(2)}, "with another": {Budget: callsOf(9)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := steady(20, false)
			env := w.environment(t)
			v := extends(env, time.Hour, "e1", request)
			closes(env, 2*time.Hour)
			execute(env, input(t, "ann", budgeted(stepsOf(2))))
			v.refused(t, "nothing left to go on with: max_steps is 2 and 2 are done")
			endsWith(t, env, 1)
		})
	}
}
