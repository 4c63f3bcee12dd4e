package mailbox

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestTheLastReportOfASubagentCounts, in whatever order its reports come, how often each does, and whoever else speaks; also
// where the agent is reset meanwhile, and hears again what came since.
func TestTheLastReportOfASubagentCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := domain.ExecutionID{}.Step(1)
		expecting := func() (r reports) {
			for call := range 3 {
				r.newest = append(r.newest, Reported{ChildReport: contract.ChildReport{ID: step.Tool(call)}})
			}
			return r
		}
		told, last := []contract.ChildReport{}, map[domain.ToolExecutionID]int{}
		for call := range 3 {
			n := rapid.IntRange(0, 4).Draw(t, "reports")
			for i := range n {
				told = append(told, contract.ChildReport{ID: step.Tool(call), Seq: i + 1, Waits: i%2 == 0})
			}
			last[step.Tool(call)] = n
		}
		told = append(told, contract.ChildReport{ID: step.Tool(9), Seq: 1, Waits: true}) // of none under way
		told = append(told, told[rapid.IntRange(0, len(told)-1).Draw(t, "again")])
		told = rapid.Permutation(told).Draw(t, "order")
		r := expecting()
		for _, report := range told {
			r.take(report)
		}
		reset := expecting()
		for _, report := range append(told[rapid.IntRange(0, len(told)).Draw(t, "since"):], told...) {
			reset.take(report)
		}
		for _, r := range []reports{r, reset} {
			require.Len(t, r.newest, 3)
			for id, n := range last {
				require.Equal(t, contract.ChildReport{ID: id, Seq: n, Waits: n%2 == 1}, r.of(id).ChildReport)
			}
		}
	})
}

// TestTheFirstToAskIsKnown by the order in which the requests came, of those that still wait.
func TestTheFirstToAskIsKnown(t *testing.T) {
	t.Parallel()
	step := domain.ExecutionID{}.Step(1)
	m := &Mailbox{}
	for call := range 3 {
		m.reports.newest = append(m.reports.newest, Reported{ChildReport: contract.ChildReport{ID: step.Tool(call)}})
	}
	asking := func(first, n int) {
		id, all := m.Asking()
		require.Equal(t, []any{step.Tool(first), n}, []any{id, all})
	}
	for seq, call := range []int{2, 0, 1} {
		m.reports.take(contract.ChildReport{ID: step.Tool(call), Seq: seq + 1, Ask: &domain.Ask{Limit: domain.LimitSteps}})
		asking(2, seq+1)
	}
	m.Asks(step.Tool(2)).Ask = nil
	require.Nil(t, m.Asks(step.Tool(2)))
	asking(0, 2)
	m.reports.over(step.Tool(0))
	asking(1, 1)
}

// TestAGrantAnswersAReport of its number that has asked, and gives nothing else than that asked for.
func TestAGrantAnswersAReport(t *testing.T) {
	t.Parallel()
	budget := func(steps, tokens int64) domain.ExecutionBudget {
		return domain.ExecutionBudget{MaxSteps: &steps, MaxTokens: &tokens}
	}
	asks := func(seq int, limit domain.Limit, most *int64) contract.ChildReport {
		return contract.ChildReport{Seq: seq, Ask: &domain.Ask{Limit: limit, Need: 1, Most: most}}
	}
	for name, test := range map[string]struct {
		asked  []contract.ChildReport
		answer contract.Grant
		want   domain.ExecutionBudget
		ok     bool
	}{
		"nothing was asked":    {nil, contract.Grant{Seq: 1, Grant: budget(1000, 1000)}, budget(4, 50), false},
		"what was asked":       {[]contract.ChildReport{asks(1, domain.LimitSteps, nil)}, contract.Grant{Seq: 1, Grant: budget(9, 50)}, budget(9, 50), true},
		"another limit too":    {[]contract.ChildReport{asks(1, domain.LimitSteps, nil)}, contract.Grant{Seq: 1, Grant: budget(9, 1000)}, budget(9, 50), true},
		"more than was asked":  {[]contract.ChildReport{asks(1, domain.LimitTokens, new(int64(25)))}, contract.Grant{Seq: 1, Grant: budget(4, 1000)}, budget(4, 75), true},
		"less than it has":     {[]contract.ChildReport{asks(1, domain.LimitTokens, nil)}, contract.Grant{Seq: 1, Grant: budget(4, 1)}, budget(4, 50), true},
		"a limit it never had": {[]contract.ChildReport{asks(1, domain.LimitCost, nil)}, contract.Grant{Seq: 1, Grant: domain.ExecutionBudget{MaxCostNanoUSD: new(int64(1))}}, budget(4, 50), true},
		"one before, late":     {[]contract.ChildReport{asks(1, domain.LimitSteps, nil), asks(2, domain.LimitTokens, nil)}, contract.Grant{Seq: 1, Grant: budget(9, 1000)}, budget(9, 50), true},
		"one before, answered": {[]contract.ChildReport{asks(1, domain.LimitSteps, nil), asks(2, domain.LimitTokens, nil)}, contract.Grant{Seq: 2, Grant: budget(9, 60)}, budget(4, 60), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := above{grant: budget(4, 50), asks: test.asked}
			require.Equal(t, test.ok, a.take(test.answer))
			require.Equal(t, test.want, a.grant)
			require.False(t, test.ok && a.take(test.answer), "an answer counts once")
			require.Equal(t, test.want, a.grant)
		})
	}
}
