package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestStatusMoves names the four moves that exist; every other is an error.
func TestStatusMoves(t *testing.T) {
	t.Parallel()
	type move struct{ from, to domain.ExecutionStatus }
	allowed := map[move]bool{
		{domain.StatusPending, domain.StatusInProgress}:   true,
		{domain.StatusInProgress, domain.StatusCompleted}: true,
		{domain.StatusInProgress, domain.StatusStopped}:   true,
		{domain.StatusInProgress, domain.StatusFailed}:    true,
	}
	seen := map[move]bool{}
	for name, from := range states() {
		for _, change := range []func() (domain.AgentState, error){
			func() (domain.AgentState, error) {
				return from.BeginExecution(executionID(7), domain.Unlimited(), after(20))
			},
			func() (domain.AgentState, error) { return from.WithExecutionCompleted(after(20)) },
			func() (domain.AgentState, error) {
				failed, err := from.WithExecutionError(domain.Errorf(domain.Internal, "broken"), after(20))
				if err != nil {
					return from, err
				}
				return failed.WithExecutionCompleted(after(20))
			},
			func() (domain.AgentState, error) { return from.WithStepStarted(executionID(7).Step(1), after(20)) },
			func() (domain.AgentState, error) { return from.WithContinuationRequested(after(20)) },
		} {
			to, err := change()
			start := from.Status()
			if err == nil && start.Terminal() {
				start = domain.StatusPending // the ended execution is dropped first
			}
			if start != to.Status() {
				require.NoError(t, err)
				require.True(t, allowed[move{start, to.Status()}], "%s: from %s to %s", name, start, to.Status())
				seen[move{start, to.Status()}] = true
			}
		}
	}
	require.Equal(t, allowed, seen)
}
