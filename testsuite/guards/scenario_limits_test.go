package guards_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/testsuite/internal/kept"
)

// TestScenariosShowEachLimit: each limit alone ends an execution in a scenario. So one that is in the table and that
// nobody holds executions to is noticed, also where its stop reason is another's.
func TestScenariosShowEachLimit(t *testing.T) {
	t.Parallel()
	scenarios := kept.Scenarios(t)
	for _, rule := range domain.LimitRules() {
		require.True(t, slices.ContainsFunc(scenarios, func(s kept.Scenario) bool {
			_, set := rule.Total(s.Definition.Budget)
			return set && s.Definition.Budget.Extended(domain.Unlimited(), []domain.Limit{rule.Limit}).IsEmpty() &&
				strings.Contains(s.Expected, "StopSignalReceived "+string(rule.Reason)+" by budget")
		}), "no scenario with %s as its only limit ends by it", rule.Limit)
	}
}
