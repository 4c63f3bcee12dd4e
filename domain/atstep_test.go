package domain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestAtStep lives through an execution and looks back at each step of it.
func TestAtStep(t *testing.T) {
	t.Parallel()
	s := begunState()
	seen := []domain.AgentState{s}
	for n := 1; n <= 4; n++ {
		if n == 3 {
			s = must(s.WithContinuationRequested(after(n)))
			s = must(s.WithStopSignal(domain.StopSignal{Reason: domain.StopRequested, Message: "enough"}, after(n)))
		}
		s = withStep(s, toolStep(executionID(1), n))
		seen = append(seen, s)
		s, _ = s.Evaluate(s.UpdatedAt)
	}
	inStep := must(s.WithStepStarted(executionID(1).Step(5), after(7)))
	inStep = must(inStep.WithCurrentStep(answerStep(executionID(1), 5, "half"), after(8)))
	inStep = must(inStep.WithMessages("", answerStep(executionID(1), 5, "half").Output, after(8)))
	failed := must(inStep.WithExecutionError(domain.Errorf(domain.Internal, "broke"), after(8)))
	failed = must(failed.WithExecutionCompleted(after(9)))
	require.Equal(t, domain.StatusFailed, failed.Status())
	for name, later := range map[string]domain.AgentState{"between steps": s, "in a step": inStep, "failed": failed} {
		for k, want := range seen {
			got, err := later.AtStep(k, want.UpdatedAt)
			require.NoError(t, err, "%s: step %d", name, k)
			require.Equal(t, encoded(t, want), encoded(t, got), "%s: step %d", name, k)
			require.Equal(t, want, got, "%s: step %d", name, k)
		}
	}
	last, err := failed.AtStep(5, after(10))
	require.NoError(t, err)
	require.Equal(t, domain.StatusInProgress, last.Status())
	require.Equal(t, []domain.Error{{Kind: domain.Internal, Message: "broke"}}, last.Errors()[len(last.Errors())-1:], "the step's end knew of it")
	require.Equal(t, 8*time.Second, failed.ExecutionDuration(after(99)))
	require.Equal(t, 98*time.Second, last.ExecutionDuration(after(99)), "it goes on")
}

func TestAtStepRefuses(t *testing.T) {
	t.Parallel()
	s := endedState()
	for _, c := range []struct {
		from  domain.AgentState
		k     int
		fault string
	}{
		{idleState(), 0, "there is no execution (status pending)"},
		{s, -1, "step: is -1; give one from 0 to 2"},
		{s, 3, "step: is 3; give one from 0 to 2"},
		{s.WithStepsFolded(1), 0, "step: 0 has left memory with the first 1; give one from 2 to 2"},
		{s.WithStepsFolded(1), 1, "step: 1 has left memory"},
	} {
		got, err := c.from.AtStep(c.k, after(9))
		require.ErrorContains(t, err, c.fault)
		require.Equal(t, c.from, got)
	}
	folded, err := s.WithStepsFolded(1).AtStep(2, after(9))
	require.NoError(t, err)
	require.Equal(t, 2, folded.StepCount())
	require.Equal(t, s.Usage(), folded.Usage())
}
