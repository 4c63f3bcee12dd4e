package domain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

// A spender is an agent of a tree that draws from one pool.
type spender struct {
	budget domain.ExecutionBudget
	spent  domain.Spent
	pool   domain.Pool
	below  []*spender
}

func (s *spender) left() domain.ExecutionBudget { return s.budget.Remaining(s.spent) }

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
	left := s.left().Remaining(s.pool.Reserved()).Whole()
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
		var grant domain.ExecutionBudget
		s.pool, grant = s.pool.WithGrant(s.left(), n-i)
		if i == 0 {
			first = grant.Whole()
		}
		least, most := first, grant.Whole()
		require.LessOrEqual(t, least.Tokens, most.Tokens)
		require.LessOrEqual(t, most.Tokens, least.Tokens+1, "equal shares, but for what cannot be divided")
		s.below = append(s.below, &spender{budget: grant})
	}
}

// ends ends a sub-agent, and all below it: with what it has spent, or without a word.
func (s *spender) ends(t *rapid.T) {
	i := rapid.IntRange(0, len(s.below)-1).Draw(t, "which")
	child := s.below[i]
	spent := child.all()
	if rapid.Bool().Draw(t, "terminated") {
		spent = child.budget.Whole()
	}
	s.spent, s.pool = s.spent.Add(spent), s.pool.WithReturn(child.budget)
	s.below = append(s.below[:i:i], s.below[i+1:]...)
}

// asks has a sub-agent ask for more of a limit, and those above it for it where they have too little.
func (s *spender) asks(t *rapid.T, child *spender, asked domain.MoreAsked, above []*spender) bool {
	more := s.pool.More(s.left(), asked, int64(len(s.below)+1))
	if more == 0 && len(above) > 0 {
		last := len(above) - 1
		if !above[last].asks(t, s, asked, above[:last]) {
			return false
		}
		more = s.pool.More(s.left(), asked, int64(len(s.below)+1))
	}
	if more == 0 {
		return false
	}
	require.GreaterOrEqual(t, more, asked.Need)
	if asked.Most != nil {
		require.LessOrEqual(t, more, *asked.Most)
	}
	before := child.budget
	var grant domain.ExecutionBudget
	s.pool, grant = s.pool.WithMore(before, asked.Limit, more)
	child.budget = child.budget.Regranted(before, grant)
	require.Equal(t, grant, child.budget)
	return true
}

// TestAPoolIsNeverOverdrawn, in whatever order agents of a tree start, spend, end and are terminated.
func TestAPoolIsNeverOverdrawn(t *testing.T) {
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
				asked := domain.MoreAsked{
					Limit: rapid.SampledFrom(domain.Limits()).Draw(t, "limit"), Need: rapid.Int64Range(1, 100).Draw(t, "need"),
					Most: rapid.Ptr(rapid.Int64Range(0, 200), true).Draw(t, "most"),
				}
				above[len(above)-1].asks(t, agent, asked, above[:len(above)-1])
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
	share := budget.Share(domain.Spent{Steps: 1, Tokens: 7}, 4)
	require.Equal(t, domain.ExecutionBudget{MaxSteps: new(int64(2)), MaxSeconds: new(60.0), Deadline: &deadline}, share, "time is not divided")
	require.Equal(t, domain.Spent{Steps: 2}, share.Whole())
	require.True(t, share.Within(budget))
	require.False(t, budget.Within(share))
	require.False(t, domain.Unlimited().Within(budget))
	require.Equal(t, domain.Unlimited(), domain.Unlimited().Share(domain.Spent{}, 3))
}
