package domain_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/enum"
)

// TestTheSameOutcome is one of the same value and the same error, whoever holds it.
func TestTheSameOutcome(t *testing.T) {
	t.Parallel()
	outcomes := []func() domain.ToolExecution{
		func() domain.ToolExecution { return domain.ToolExecution{} },
		func() domain.ToolExecution { return domain.ToolExecution{Value: "seen"} },
		func() domain.ToolExecution { return domain.ToolExecution{Error: domain.Invalidf("no")} },
		func() domain.ToolExecution { return domain.ToolExecution{Error: domain.Deniedf("no")} },
		func() domain.ToolExecution {
			return domain.ToolExecution{Value: "seen", Error: domain.Invalidf("no")}
		},
	}
	for a, one := range outcomes {
		for b, other := range outcomes {
			require.Equal(t, a == b, one().SameOutcome(other()), "%d, %d", a, b)
		}
	}
}

// TestTheTextOfAMessage is that of its text parts, in their order.
func TestTheTextOfAMessage(t *testing.T) {
	t.Parallel()
	said := func(text string) domain.Part { return domain.Part{Type: domain.PartText, Text: text} }
	thought := domain.Part{Type: domain.PartReasoning, Text: "hm"}
	for text, parts := range map[string][]domain.Part{"": {thought}, "a": {said("a")}, "ab": {said("a"), thought, said("b")}} {
		require.Equal(t, text, domain.Message{Parts: parts}.Text())
	}
	require.Empty(t, domain.Message{}.Text())
}

// TestReasonsOfLimits are the reasons that the limits have, and no others.
func TestReasonsOfLimits(t *testing.T) {
	t.Parallel()
	var limits []domain.StopReason
	for _, rule := range domain.LimitRules() {
		limits = append(limits, rule.Reason)
	}
	require.NotContains(t, limits, domain.UserRequested)
	for _, reason := range enum.Known[domain.StopReason]() {
		require.Equal(t, slices.Contains(limits, reason), reason.OfLimit(), reason)
	}
}

func TestNamesOfServersTools(t *testing.T) {
	t.Parallel()
	names := []string{"read_file", "shop__search", domain.AllToolsOf("files")}
	for tool, want := range map[string]bool{
		"read_file": true, "shop__search": true, "files__read": true, "files__a__b": true,
		"shop__refund": false, "files": false, "__read": false, "file__read": false, "files2__read": false,
	} {
		require.Equal(t, want, domain.NamesTool(names, tool), tool)
	}
	server, all := domain.ServerOfAll("files__*")
	require.True(t, all)
	require.Equal(t, "files", server)
	_, all = domain.ServerOfAll("files__read")
	require.False(t, all)
}
