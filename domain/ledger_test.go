package domain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

// A spender is an agent of a tree. Those below it hold what it has granted them.
type spender struct {
	budget domain.ExecutionBudget
	spent  domain.Spent
	below  []*spender
}

// ledger is what it knows: its own spending, and what it has granted.
func (s *spender) ledger() domain.Ledger {
	l := ledger(s.budget, s.spent)
	for _, child := range s.below {
		l.Reserved = l.Reserved.Add(child.budget.Whole())
	}
	return l
}

// all is what it and those below it have spent, whoever knows of it already.
func (s *spender) all() domain.Spent {
	sum := s.spent
	for _, child := range s.below {
		sum = sum.Add(child.all())
	}
	return sum
}

// uses spends something of its own, of what no sub-agent has reserved.
func (s *spender) uses(t *rapid.T) {
	left := s.ledger().Free().Whole()
	draw := func(what string, most int64) int64 { return rapid.Int64Range(0, most).Draw(t, what) }
	s.spent = s.spent.Add(domain.Spent{
		Steps: draw("steps", left.Steps), Tokens: draw("tokens", left.Tokens), CostNanoUSD: draw("cost", left.CostNanoUSD), ToolCalls: draw("calls", left.ToolCalls),
	})
}

// starts starts some sub-agents together.
func (s *spender) starts(t *rapid.T) {
	n := rapid.IntRange(1, 4).Draw(t, "together")
	var first domain.Spent
	for i := range n {
		grant := s.ledger().Free().Share(int64(n - i))
		if i == 0 {
			first = grant.Whole()
		}
		least, most := first, grant.Whole()
		require.LessOrEqual(t, least.Tokens, most.Tokens)
		require.LessOrEqual(t, most.Tokens, least.Tokens+1, "equal shares, but for what cannot be divided")
		s.below = append(s.below, &spender{budget: grant})
	}
}

// ends ends a sub-agent, and all below it: with what it has spent, or without a word. What it had and did not use comes back.
func (s *spender) ends(t *rapid.T) {
	i := rapid.IntRange(0, len(s.below)-1).Draw(t, "which")
	child, before := s.below[i], s.ledger().Free().Whole()
	spent := child.all()
	if rapid.Bool().Draw(t, "terminated") {
		spent = child.budget.Whole()
	}
	s.spent = s.spent.Add(spent)
	s.below = append(s.below[:i:i], s.below[i+1:]...)
	require.Equal(t, before.Add(child.budget.Whole()), s.ledger().Free().Whole().Add(spent))
}

// asks has a sub-agent ask for more of a limit, and those above it for it where they have too little.
func (s *spender) asks(t *rapid.T, child *spender, ask domain.Ask, above []*spender) bool {
	parts := int64(len(s.below) + 1)
	more := s.ledger().Free().More(ask, parts)
	if more == 0 && len(above) > 0 {
		last := len(above) - 1
		if !above[last].asks(t, s, ask, above[:last]) {
			return false
		}
		more = s.ledger().Free().More(ask, parts)
	}
	if more == 0 {
		return false
	}
	require.GreaterOrEqual(t, more, ask.Need)
	if ask.Most != nil {
		require.LessOrEqual(t, more, *ask.Most)
	}
	before := child.budget
	grant := before.Raised(ask.Limit, more)
	require.Equal(t, grant, before.Answered(ask, grant), "the sub-agent takes all that it is given")
	child.budget = child.budget.Regranted(before, grant)
	require.Equal(t, grant, child.budget)
	return true
}

// TestATreeIsNeverOverdrawn, in whatever order agents of a tree start, spend, end and are terminated.
func TestATreeIsNeverOverdrawn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		total := func(what string) *int64 { return new(rapid.Int64Range(0, 1000).Draw(t, what)) }
		root := &spender{budget: domain.ExecutionBudget{
			MaxSteps: total("max_steps"), MaxTokens: total("max_tokens"), MaxCostNanoUSD: total("max_cost"), MaxToolCalls: total("max_tool_calls"),
		}}
		for range rapid.IntRange(1, 40).Draw(t, "turns") {
			agent := root
			var above []*spender
			for len(agent.below) > 0 && rapid.Bool().Draw(t, "deeper") {
				above = append(above, agent)
				agent = agent.below[rapid.IntRange(0, len(agent.below)-1).Draw(t, "who")]
			}
			switch what := rapid.IntRange(0, 3).Draw(t, "what"); {
			case what == 3 && len(above) > 0:
				ask := domain.Ask{
					Limit: rapid.SampledFrom(domain.Limits()).Draw(t, "limit"), Need: rapid.Int64Range(1, 100).Draw(t, "need"),
					Most: rapid.Ptr(rapid.Int64Range(0, 200), true).Draw(t, "most"),
				}
				above[len(above)-1].asks(t, agent, ask, above[:len(above)-1])
			case what == 0:
				agent.uses(t)
			case what == 1 || what == 3 || len(agent.below) == 0:
				agent.starts(t)
			default:
				agent.ends(t)
			}
			require.True(t, within(root.all(), root.budget.Whole()), "spent %+v of %+v", root.all(), root.budget.Whole())
		}
	})
}

func within(spent, total domain.Spent) bool {
	return spent.Steps <= total.Steps && spent.Tokens <= total.Tokens && spent.CostNanoUSD <= total.CostNanoUSD && spent.ToolCalls <= total.ToolCalls
}

func TestShares(t *testing.T) {
	t.Parallel()
	deadline := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	budget := domain.ExecutionBudget{MaxSteps: new(int64(10)), MaxSeconds: new(60.0), Deadline: &deadline}
	share := budget.Remaining(domain.Spent{Steps: 1, Tokens: 7}).Share(4)
	require.Equal(t, domain.ExecutionBudget{MaxSteps: new(int64(2)), MaxSeconds: new(60.0), Deadline: &deadline}, share, "time is not divided")
	require.Equal(t, domain.Spent{Steps: 2}, share.Whole())
	require.True(t, share.Within(budget))
	require.False(t, budget.Within(share))
	require.False(t, domain.Unlimited().Within(budget))
	require.Equal(t, domain.Unlimited(), domain.Unlimited().Share(3))
}

// TestMore is a share of what is free, at least what is needed and at most what is of use.
func TestMore(t *testing.T) {
	t.Parallel()
	free := domain.ExecutionBudget{MaxTokens: new(int64(100)), MaxSeconds: new(60.0)}
	for name, test := range map[string]struct {
		ask  domain.Ask
		want int64
	}{
		"a share":            {domain.Ask{Limit: domain.LimitTokens, Need: 10}, 25},
		"what is needed":     {domain.Ask{Limit: domain.LimitTokens, Need: 40}, 40},
		"all":                {domain.Ask{Limit: domain.LimitTokens, Need: 100}, 100},
		"more than there is": {domain.Ask{Limit: domain.LimitTokens, Need: 101}, 0},
		"at most":            {domain.Ask{Limit: domain.LimitTokens, Need: 10, Most: new(int64(15))}, 15},
		"too little at most": {domain.Ask{Limit: domain.LimitTokens, Need: 10, Most: new(int64(9))}, 0},
		"of no limit":        {domain.Ask{Limit: domain.LimitSteps, Need: 1}, 0},
		"of nothing":         {domain.Ask{}, 0},
		"time":               {domain.Ask{Limit: domain.LimitSeconds, Need: 1}, 0},
	} {
		require.Equal(t, test.want, free.More(test.ask, 4), name)
	}
}
