package mailbox

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestAGrantAnswersARequest of its number, and gives nothing else than that asked for.
func TestAGrantAnswersARequest(t *testing.T) {
	t.Parallel()
	budget := func(steps, tokens int64) domain.ExecutionBudget {
		return domain.ExecutionBudget{MaxSteps: &steps, MaxTokens: &tokens}
	}
	asks := func(number int, limit domain.Limit, most *int64) contract.BudgetRequest {
		return contract.BudgetRequest{Number: number, MoreAsked: domain.MoreAsked{Limit: limit, Need: 1, Most: most}}
	}
	for name, test := range map[string]struct {
		asked  []contract.BudgetRequest
		answer contract.BudgetGrant
		want   domain.ExecutionBudget
		ok     bool
	}{
		"nothing was asked":    {nil, contract.BudgetGrant{Number: 1, Grant: budget(1000, 1000)}, budget(4, 50), false},
		"another number":       {[]contract.BudgetRequest{asks(2001, domain.LimitSteps, nil)}, contract.BudgetGrant{Number: 2002, Grant: budget(9, 50)}, budget(4, 50), false},
		"what was asked":       {[]contract.BudgetRequest{asks(1, domain.LimitSteps, nil)}, contract.BudgetGrant{Number: 1, Grant: budget(9, 50)}, budget(9, 50), true},
		"another limit too":    {[]contract.BudgetRequest{asks(1, domain.LimitSteps, nil)}, contract.BudgetGrant{Number: 1, Grant: budget(9, 1000)}, budget(9, 50), true},
		"more than was asked":  {[]contract.BudgetRequest{asks(1, domain.LimitTokens, new(int64(25)))}, contract.BudgetGrant{Number: 1, Grant: budget(4, 1000)}, budget(4, 75), true},
		"less than it has":     {[]contract.BudgetRequest{asks(1, domain.LimitTokens, nil)}, contract.BudgetGrant{Number: 1, Grant: budget(4, 1)}, budget(4, 50), true},
		"no limit":             {[]contract.BudgetRequest{asks(1, domain.LimitTokens, nil)}, contract.BudgetGrant{Number: 1}, budget(4, 50), true},
		"a limit it never had": {[]contract.BudgetRequest{asks(1, domain.LimitCost, nil)}, contract.BudgetGrant{Number: 1, Grant: domain.ExecutionBudget{MaxCostNanoUSD: new(int64(1))}}, budget(4, 50), true},
		"one before, late":     {[]contract.BudgetRequest{asks(1, domain.LimitSteps, nil), asks(2, domain.LimitTokens, nil)}, contract.BudgetGrant{Number: 1, Grant: budget(9, 1000)}, budget(9, 50), true},
		"one before, answered": {[]contract.BudgetRequest{asks(1, domain.LimitSteps, nil), asks(2, domain.LimitTokens, nil)}, contract.BudgetGrant{Number: 2, Grant: budget(9, 60)}, budget(4, 60), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBorrowed(budget(4, 50))
			for _, r := range test.asked {
				b = b.Asking(r)
			}
			after, _, ok := b.Answered(test.answer)
			require.Equal(t, test.ok, ok)
			require.Equal(t, test.want, after.Grant())
			require.Equal(t, budget(4, 50), b.Grant())
			if ok {
				require.False(t, after.Waits(test.answer.Number))
				_, _, again := after.Answered(test.answer)
				require.False(t, again, "an answer counts once")
			}
		})
	}
}
