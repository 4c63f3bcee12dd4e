package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

// TestABudgetOverASession bounds what its executions use together, and tells whose limit is reached.
func TestABudgetOverASession(t *testing.T) {
	t.Parallel()
	s := accountState()
	account, ok := s.Session()
	require.True(t, ok)
	require.Equal(t, domain.Spent{Steps: 1, Tokens: 120, CostNanoUSD: 500, ToolCalls: 3}, account.Spent, "of time nothing is counted")
	require.Equal(t, int64(780), *account.Budget.Remaining(account.Spent).MaxTokens)
	require.Equal(t, int64(780), *s.Ledger(after(5)).Budget().MaxTokens, "an execution may use what the others left")
	require.Equal(t, int64(10), *s.Ledger(after(5)).Budget().MaxSteps, "or what its own budget allows")
	require.Equal(t, sampleBudget().MaxSeconds, s.Ledger(after(5)).Budget().MaxSeconds)

	s = withStep(s, toolStep(executionID(2), 1))
	account, _ = s.Session()
	require.Equal(t, int64(240), account.Spent.Tokens, "what is in progress counts")
	_, reached := s.Ledger(after(5)).Reached(after(5))
	require.False(t, reached)
	tight := must(s.WithSessionBudget(domain.ExecutionBudget{MaxTokens: new(int64(200))}, after(5)))
	use, reached := tight.Ledger(after(5)).Reached(after(5))
	require.True(t, reached)
	require.Equal(t, "the session's max_tokens is 200 and 240 are used", use.String())
	require.Equal(t, "extend the session with a higher max_tokens to go on", use.GoOn())
	require.Contains(t, string(use.ReachedSignal().Context["session"]), "true")

	ended := must(s.WithExecutionCompleted(after(6)))
	account, _ = ended.Session()
	require.Equal(t, int64(240), account.Spent.Tokens, "what has ended is counted once")
	gone := must(ended.ForNextExecution(after(7)))
	account, _ = gone.Session()
	require.Equal(t, int64(240), account.Spent.Tokens)
	_, ok = ended.Forked(sampleAgent(), domain.Origin{ExecutionID: executionID(1), AgentID: sampleAgent()}, after(8)).Session()
	require.False(t, ok, "a fork has its own")
	_, ok = busyState().Session()
	require.False(t, ok)
}

// TestASessionHasNoLimitOfTime: the fields are named, and what to give instead.
func TestASessionHasNoLimitOfTime(t *testing.T) {
	t.Parallel()
	require.Equal(t, []domain.Limit{domain.LimitSteps, domain.LimitTokens, domain.LimitCost, domain.LimitToolCalls}, domain.SessionLimits())
	for text, budget := range map[string]domain.ExecutionBudget{
		"session_budget.max_seconds: is no limit of a session": {MaxSeconds: new(1.0)},
		"session_budget.deadline: is no limit of a session":    {Deadline: new(after(1))},
		"session_budget.max_steps: is -1":                      {MaxSteps: new(int64(-1))},
	} {
		definition := domain.Definition{Model: sampleConfig(), SessionBudget: budget}
		require.ErrorContains(t, definition.Check(), text)
		_, err := idleState().WithSessionBudget(budget, noon)
		require.Error(t, err)
	}
}

// TestASessionIsNeverOverdrawn: whatever executions use of what their bounds leave, and however the totals change, their
// sum stays within the totals, where these never fall.
func TestASessionIsNeverOverdrawn(t *testing.T) {
	t.Parallel()
	limit := rapid.Custom(func(t *rapid.T) *int64 {
		if rapid.Bool().Draw(t, "unlimited") {
			return nil
		}
		return new(rapid.Int64Range(0, 50).Draw(t, "limit"))
	})
	budget := rapid.Custom(func(t *rapid.T) domain.ExecutionBudget {
		return domain.ExecutionBudget{MaxSteps: limit.Draw(t, "steps"), MaxTokens: limit.Draw(t, "tokens"), MaxCostNanoUSD: limit.Draw(t, "cost"), MaxToolCalls: limit.Draw(t, "calls")}
	})
	rapid.Check(t, func(t *rapid.T) {
		totals := budget.Draw(t, "session")
		s, err := domain.NewAgentState(sampleAgent(), domain.AgentID{}, noon, sampleConfig()).WithSessionBudget(totals, noon)
		require.NoError(t, err)
		var sum domain.Spent
		for n := range rapid.IntRange(1, 5).Draw(t, "executions") {
			prior := domain.Spent{Tokens: rapid.Int64Range(0, 40).Draw(t, "prior")} // it goes on from another
			s, err = s.BeginExecution(executionID(n+1), budget.Draw(t, "own"), after(n))
			require.NoError(t, err)
			s = s.WithCounts(domain.ExecutionCounts{Prior: prior}, after(n))
			for step := range rapid.IntRange(0, 4).Draw(t, "steps") {
				if rapid.IntRange(0, 3).Draw(t, "extended") == 0 {
					before, _ := s.Session()
					totals = before.Budget.Extended(domain.ExecutionBudget{MaxTokens: new(sum.Tokens + 50)}, nil)
					s, err = s.WithSessionBudget(totals, after(n))
					require.NoError(t, err)
				}
				ledger := s.Ledger(after(n))
				if _, reached := ledger.Reached(after(n)); reached {
					break
				}
				left := ledger.Free().CappedBy(domain.ExecutionBudget{MaxTokens: new(int64(30)), MaxCostNanoUSD: new(int64(30)), MaxToolCalls: new(int64(3))}).Whole()
				content := domain.AgentStep{ID: executionID(n + 1).Step(step + 1), Number: step + 1}
				content.Usage.InputTokens = rapid.Int64Range(0, left.Tokens).Draw(t, "tokens")
				content.CostNanoUSD = rapid.Int64Range(0, left.CostNanoUSD).Draw(t, "cost")
				calls := rapid.Int64Range(0, left.ToolCalls).Draw(t, "calls")
				s, err = s.WithStepStarted(content.ID, after(n))
				require.NoError(t, err)
				s, err = s.WithCurrentStep(content, after(n))
				require.NoError(t, err)
				s, err = s.WithToolCalls(calls, after(n)).WithCurrentStepCompleted(after(n))
				require.NoError(t, err)
				sum = sum.Add(domain.Spent{Steps: 1, Tokens: content.Usage.InputTokens, CostNanoUSD: content.CostNanoUSD, ToolCalls: calls})
				if rapid.Bool().Draw(t, "carried") {
					encoded, err := s.WithStepsFolded(0).EncodeFull()
					require.NoError(t, err)
					s, err = domain.DecodeAgentState(encoded)
					require.NoError(t, err)
				}
			}
			s, err = s.WithExecutionCompleted(after(n))
			require.NoError(t, err)
			account, _ := s.Session()
			require.Equal(t, sum, account.Spent)
			for _, rule := range domain.LimitRules() {
				if total, set := rule.Total(account.Budget); set {
					require.LessOrEqual(t, rule.Used(sum, noon).Int(), total.Int(), "%s", rule.Limit)
				}
			}
		}
	})
}
