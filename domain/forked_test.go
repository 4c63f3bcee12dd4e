package domain_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestForked: another agent has the context and the unresolved calls, and nothing that was given to the first.
func TestForked(t *testing.T) {
	t.Parallel()
	s := must(begunState().WithTrusted(domain.Trusted{"customer": json.RawMessage(`4711`)}, after(1)))
	s = must(s.WithMetadata("note", json.RawMessage(`1`), after(1)))
	s = s.WithSystemPrompt("be kind", after(1))
	s = s.WithUnknownOutcome(domain.Wait{Kind: domain.WaitOutcome, ToolExecutionID: executionID(1).Step(1).Tool(0), Tool: "pay", Effect: domain.DigestOf([]byte("x"))}, after(1))
	told := domain.Wait{Kind: domain.WaitOutcome, ToolExecutionID: executionID(1).Step(1).Tool(1), Answer: &domain.Answer{Verdict: domain.VerdictDone, Told: true}}
	s = s.WithUnknownOutcome(told, after(1))
	other, err := domain.AgentIDOf("other")
	require.NoError(t, err)
	origin := domain.Origin{ExecutionID: executionID(1), Step: 2, AgentID: s.AgentID, Origin: &domain.Origin{ExecutionID: executionID(9)}}
	before := encoded(t, s)
	forked := s.Forked(other, origin, after(5))
	require.Equal(t, before, encoded(t, s), "the origin is as it was")
	require.Equal(t, other, forked.AgentID)
	require.Equal(t, after(5), forked.CreatedAt)
	require.Equal(t, domain.StatusPending, forked.Status())
	require.Zero(t, forked.ExecutionCount)
	require.Empty(t, forked.Messages())
	require.Empty(t, forked.Trusted())
	require.Empty(t, forked.StandingApprovals)
	require.Equal(t, "be kind", forked.SystemPrompt)
	require.Contains(t, forked.Metadata, "note")
	require.Len(t, forked.UnknownOutcomes, 1)
	require.Equal(t, s.AgentID, forked.UnresolvedOutcomes()[0].EffectOf, "its key is the other agent's")

	begun := must(forked.BeginExecution(executionID(7), domain.Unlimited(), after(6)))
	require.Equal(t, []domain.ExecutionID{executionID(7), executionID(1), executionID(9)}, begun.Chain())
	first := begun.Execution.Origin
	require.Equal(t, &origin, first)
	require.Equal(t, []domain.ExecutionID{executionID(1), executionID(9)}, origin.Chain())
	require.Equal(t, &domain.Origin{ExecutionID: executionID(1), Step: 2, AgentID: s.AgentID}, first.Branch())
	require.Nil(t, domain.Origin{ExecutionID: executionID(1)}.Branch(), "it goes on from the end of another")

	again := begun.Forked(sampleAgent(), origin, after(7))
	require.Equal(t, s.AgentID, again.UnresolvedOutcomes()[0].EffectOf, "a fork of a fork knows whose key it is")
}
