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
	for _, from := range domain.ExecutionStatuses() {
		for _, to := range domain.ExecutionStatuses() {
			got, err := from.Next(to)
			if allowed[move{from, to}] {
				require.NoError(t, err)
				require.Equal(t, to, got)
				continue
			}
			require.ErrorContains(t, err, "status: an execution cannot go from "+string(from)+" to "+string(to))
			require.Equal(t, from, got)
		}
	}
}

func TestStatusTerminal(t *testing.T) {
	t.Parallel()
	for status, terminal := range map[domain.ExecutionStatus]bool{
		domain.StatusPending: false, domain.StatusInProgress: false,
		domain.StatusCompleted: true, domain.StatusStopped: true, domain.StatusFailed: true,
	} {
		require.Equal(t, terminal, status.Terminal(), status)
	}
}
