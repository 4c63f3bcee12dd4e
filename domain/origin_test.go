package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestGoingOnSeveralTimes: each execution shows the traces of all that it goes
// on from, and one that goes on from none shows its own only.
func TestGoingOnSeveralTimes(t *testing.T) {
	t.Parallel()
	s := withStep(begunState(), toolStep(executionID(1), 1))
	require.Nil(t, s.Origin)
	for n := 1; n <= 3; n++ {
		s = must(s.WithStopSignal(domain.StopSignal{Reason: domain.StepsLimitReached}, after(10*n)))
		s = must(s.WithExecutionCompleted(after(10 * n)))
		ended := encoded(t, s)
		gone := must(s.WithOriginHere(after(10*n + 1)))
		require.Equal(t, ended, encoded(t, s), "the ended one stays as it was")
		origin := gone.Origin
		require.Equal(t, executionID(n), origin.ExecutionID)
		require.Equal(t, 1, origin.Step)
		saved, err := gone.EncodeSession()
		require.NoError(t, err)
		gone, err = domain.DecodeAgentState(saved)
		require.NoError(t, err, "it is kept between executions")
		s = must(gone.BeginExecution(executionID(n+1), domain.Unlimited(), after(10*n+2)))
		require.Nil(t, s.Origin, "it is used up")
		require.Equal(t, origin, s.Execution.Origin)
		s = withStep(s, toolStep(executionID(n+1), 1))
	}
	require.Equal(t, []domain.ExecutionID{executionID(4), executionID(3), executionID(2), executionID(1)}, s.Chain())
	require.Len(t, domain.CompileEdited(domain.CurrentTrace, nil, s.AddedSince(domain.AgentState{}), s.Chain(), domain.Edits{}), 17)
	s = must(s.WithExecutionCompleted(after(90)))
	s = must(s.BeginExecution(executionID(5), domain.Unlimited(), after(91)))
	require.Equal(t, []domain.ExecutionID{executionID(5)}, s.Chain())
	require.Len(t, domain.CompileEdited(domain.CurrentTrace, nil, s.AddedSince(domain.AgentState{}), s.Chain(), domain.Edits{}), 1)
}

func TestOriginHereRefuses(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]domain.AgentState{"idle": idleState(), "begun": begunState(), "busy": busyState()} {
		got, err := s.WithOriginHere(after(9))
		require.ErrorContains(t, err, "no execution has ended (status "+string(s.Status())+")", name)
		require.Equal(t, s, got, name)
	}
}
