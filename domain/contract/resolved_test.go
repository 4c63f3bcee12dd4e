package contract_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

func TestResolvedTool(t *testing.T) {
	t.Parallel()
	resolved := contract.Resolved{Tools: []domain.ToolSpec{{Name: "a"}, {Name: "b"}}}
	tool, ok := resolved.Tool("b")
	require.True(t, ok)
	require.Equal(t, "b", tool.Name)
	_, ok = resolved.Tool("c")
	require.False(t, ok)
}

// TestApprovalsInForce: where neither the definition nor the worker says any, people are asked.
func TestApprovalsInForce(t *testing.T) {
	t.Parallel()
	own, worker := domain.ApprovalsOf("deny"), domain.ApprovalsOf("allow")
	require.Equal(t, own, contract.Resolved{Approvals: worker}.ApprovalsOf(domain.Definition{Approvals: own}))
	require.Equal(t, worker, contract.Resolved{Approvals: worker}.ApprovalsOf(domain.Definition{}))
	tightening := &domain.Approvals{Rules: []domain.ApprovalRule{{Tool: "pay", Then: domain.Deny, Tightens: true}}}
	require.Equal(t, tightening.Over(worker), contract.Resolved{Approvals: worker}.ApprovalsOf(domain.Definition{Approvals: tightening}))
	require.Equal(t, domain.DefaultApprovals(), contract.Resolved{}.ApprovalsOf(domain.Definition{}))
}

func TestSegmentKey(t *testing.T) {
	t.Parallel()
	segment := contract.Segment{RunID: "run", From: 3, To: 7, Digest: domain.DigestOf()}
	require.Equal(t, "segments/agent/alice/run/3-7-47DEQpj8HBSa-_TImW-5JA", segment.Key(domain.WorkflowID("alice")))
}

func TestStopModeStronger(t *testing.T) {
	t.Parallel()
	modes := enum.Known[contract.StopMode]()
	for i, a := range modes {
		for k, b := range modes {
			require.Equal(t, modes[max(i, k)], a.Stronger(b), "%s and %s", a, b)
		}
	}
	require.Equal(t, contract.AfterStep, contract.StopMode("").Stronger(""))
}

func TestCompacts(t *testing.T) {
	t.Parallel()
	selected := func(sections ...string) domain.Definition {
		return domain.Definition{Compiler: domain.SelectedSections, Sections: sections}
	}
	for name, c := range map[string]struct {
		resolved contract.Resolved
		compacts bool
	}{
		"nothing is said of it":         {contract.Resolved{}, false},
		"by default":                    {contract.Resolved{Compaction: &domain.Compaction{}}, true},
		"off":                           {contract.Resolved{Compaction: &domain.Compaction{Off: true}}, false},
		"all that it needs is selected": {contract.Resolved{Compaction: &domain.Compaction{}, Definition: selected("summary", "buffer")}, true},
		"no buffer is selected":         {contract.Resolved{Compaction: &domain.Compaction{}, Definition: selected("summary", "messages")}, false},
		"no summary is selected":        {contract.Resolved{Compaction: &domain.Compaction{}, Definition: selected("buffer")}, false},
	} {
		require.Equal(t, c.compacts, c.resolved.Compacts(), name)
	}
}

func TestRateLimitInWords(t *testing.T) {
	t.Parallel()
	for limit, words := range map[contract.RateLimit]string{
		{RequestsPerMinute: 5}:                     "5 requests a minute",
		{TokensPerMinute: 7}:                       "7 tokens a minute and worker",
		{RequestsPerMinute: 5, TokensPerMinute: 7}: "5 requests a minute, 7 tokens a minute and worker",
	} {
		require.Equal(t, words, limit.String())
	}
}

func TestRewriterIsTheFirstHookAfterInferences(t *testing.T) {
	t.Parallel()
	before := contract.HookSpec{Name: "before", Trigger: domain.TriggerBeforeInference}
	require.Empty(t, contract.Rewriter([]contract.HookSpec{before}))
	hooks := []contract.HookSpec{before, {Name: "one", Trigger: domain.TriggerAfterInference}, {Name: "two", Trigger: domain.TriggerAfterInference}}
	require.Equal(t, "one", contract.Rewriter(hooks))
}

func TestWorkflowIDsAreOfTheNameIfThereIsOne(t *testing.T) {
	t.Parallel()
	id, err := domain.AgentIDOf("alice")
	require.NoError(t, err)
	require.Equal(t, "agent/alice", contract.SessionInput{AgentID: id, Name: "alice"}.WorkflowID())
	require.Equal(t, "agent/"+id.String(), contract.SessionInput{AgentID: id}.WorkflowID())
}
