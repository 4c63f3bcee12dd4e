package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// rewrites is a hook that puts its own words in place of the model's.
func rewrites(text string) hook.Hook {
	return hook.AfterInference("rewrites", func(c hook.Reply) (hook.Reply, error) {
		c.At.Message.Parts = []domain.Part{{Type: domain.PartText, Text: text}}
		return c, nil
	})
}

// TestARewrittenAnswerIsChecked by a worker, where there is a format to fit. What
// cannot be checked does not fit.
func TestARewrittenAnswerIsChecked(t *testing.T) {
	t.Parallel()
	fits := func(string) (contract.OutputReply, error) { return contract.OutputReply{}, nil }
	misfits := func(string) (contract.OutputReply, error) {
		return contract.OutputReply{Invalid: "at /city: is no string"}, nil
	}
	fails := func(string) (contract.OutputReply, error) {
		return contract.OutputReply{}, refused(domain.Invalidf("no such schema"))
	}
	for name, test := range map[string]struct {
		format  domain.FormatType
		check   func(string) (contract.OutputReply, error)
		checked int
		reason  domain.StopReason
		says    string
	}{
		"no format":            {"", misfits, 0, domain.Completed, ""},
		"text":                 {domain.FormatText, misfits, 0, domain.Completed, ""},
		"it fits":              {domain.FormatJSON, fits, 1, domain.Completed, ""},
		"it does not":          {domain.FormatJSON, misfits, 3, domain.RetryLimitReached, "at /city: is no string"},
		"it cannot be checked": {domain.FormatJSON, fails, 3, domain.RetryLimitReached, "could not be checked: no such schema"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: repeats(says("{}"))}
			env := hooked(t, w, nil, rewrites("[]"))
			checked := 0
			serves(env, contract.CheckOutput, func(r contract.OutputRequest) (contract.OutputReply, error) {
				checked++
				require.Equal(t, "[]", r.Text)
				return test.check(r.Text)
			})
			execute(env, input(t, "", func(in *contract.SessionInput) {
				in.Definition.Format.Type, in.Definition.Attempts = test.format, 1
			}))
			out := outcome(t, env)
			require.Equal(t, test.reason, out.StopReason)
			require.Equal(t, test.checked, checked)
			require.Equal(t, "[]", endOf(t, env, 0).Answer)
			if test.says != "" {
				require.Contains(t, lastStep(t, env).Errors[0].Message, test.says)
			}
		})
	}
}

// TestCallsThatAHookMakes are told apart by ids of their own, and nobody checks an
// answer that asks for tools.
func TestCallsThatAHookMakes(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(says("go"), says("done")), tool: saw, tools: reads()}
	env := hooked(t, w, nil, hook.AfterInference("calls", func(c hook.Reply) (hook.Reply, error) {
		if c.State.StepCount() == 0 {
			c.At.Message.ToolCalls = []domain.ToolCall{{Name: "look"}, {ID: "a", Name: "look"}, {ID: "a", Name: "look"}}
		}
		return c, nil
	}))
	execute(env, input(t, "", func(in *contract.SessionInput) {
		in.Definition.Format.Type = domain.FormatJSON
	}))
	out := outcome(t, env)
	require.Equal(t, domain.StatusCompleted, out.Status)
	calls := executions(t, env)
	require.Equal(t, "a", calls[1].Call.ID)
	seen := map[string]bool{"": true}
	for _, e := range calls {
		require.False(t, seen[e.Call.ID], e.Call.ID)
		seen[e.Call.ID] = true
	}
}

// TestALimitOfMoneyThatAHookSets needs a price; none at all takes nothing.
func TestALimitOfMoneyThatAHookSets(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limit  int64
		priced bool
		says   string
	}{"a limit": {1, false, "it set max_cost, and nobody knows what"}, "with a price": {1, true, ""}, "nothing": {0, false, ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: plays(says("hi"))}
			env := hooked(t, w, nil, hook.BeforeExecution("limits", func(c hook.Point) (hook.Point, error) {
				state, err := c.State.WithBudget(domain.ExecutionBudget{MaxCostNanoUSD: &test.limit}, c.Now)
				c.State = state
				return c, err
			}))
			list := w.list
			w.list = func(r contract.ResolveRequest) (contract.Resolved, error) {
				catalog, err := list(r)
				if test.priced {
					catalog.Price = &domain.Price{Input: 1}
				}
				return catalog, err
			}
			execute(env, input(t, ""))
			view := status(t, env)
			if test.says == "" {
				require.Nil(t, view.Failure())
				require.Equal(t, &test.limit, view.Ledger.Own().Limit.MaxCostNanoUSD)
				return
			}
			require.Contains(t, view.Failure().Message, test.says)
			require.Equal(t, domain.CodeHookFailed, view.Failure().Code)
		})
	}
}
