package progress_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// TestTrustedValuesAsHistoryTellsThem: the session's stay, an execution's own are of that one, and of one that goes
// on from it; a run that takes over tells both.
func TestTrustedValuesAsHistoryTellsThem(t *testing.T) {
	t.Parallel()
	of := func(name, value string) domain.Trusted { return domain.Trusted{name: json.RawMessage(value)} }
	both := domain.Trusted{"customer": json.RawMessage(`1`), "order": json.RawMessage(`2`)}
	s := begins(contract.SessionInput{Given: &domain.Given{Trusted: of("customer", "1")}})
	require.Equal(t, of("customer", "1"), s.Execution.Trusted)
	send := func(number int, given *domain.Given) {
		s.then(progress.Sent{Request: &contract.SendRequest{Given: given}, Reply: contract.SendReply{Began: true, Number: number}})
	}
	send(2, &domain.Given{Trusted: of("order", "2")})
	require.Equal(t, both, s.Execution.Trusted)
	s.then(progress.Extended{Reply: contract.ExtendReply{Began: true, Number: 3}})
	require.Equal(t, both, s.Execution.Trusted, "it goes on")
	send(4, nil)
	require.Equal(t, of("customer", "1"), s.Execution.Trusted, "those of a message are of its execution alone")

	for _, status := range []domain.ExecutionStatus{domain.StatusInProgress, domain.StatusStopped} {
		state, err := json.Marshal(map[string]any{"execution_count": 5, "trusted": of("customer", "1"), "execution": map[string]any{
			"execution_id": nth(5), "status": status, "trusted": of("order", "2"),
		}})
		require.NoError(t, err)
		took := begins(contract.SessionInput{Carry: &contract.Carry{State: state}})
		require.Equal(t, both, took.Execution.Trusted)
		on := begins(contract.SessionInput{Carry: &contract.Carry{State: state}, GoOn: &contract.GoOn{}})
		require.Equal(t, both, on.Execution.Trusted)
	}
}
