package contract_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

func TestTimeouts(t *testing.T) {
	t.Parallel()
	var none contract.Resolved
	own := contract.Resolved{Definition: domain.Definition{Attempts: 3, InferenceTimeout: time.Hour, ToolTimeout: 10 * time.Minute}}
	require.Equal(t, []time.Duration{15 * time.Minute, time.Hour}, []time.Duration{none.InferenceTimeout(), own.InferenceTimeout()})
	require.Equal(t, 5*time.Minute, none.ToolTimeout(domain.ToolSpec{}))
	require.Equal(t, 10*time.Minute, own.ToolTimeout(domain.ToolSpec{}), "the agent's, longer than the default too")
	require.Equal(t, time.Second, own.ToolTimeout(domain.ToolSpec{Timeout: time.Second}), "the tool's own")
	require.Equal(t, []int{12, 3}, []int{none.Definition.Tries(), own.Definition.Tries()})
	require.Equal(t, 30*time.Second, contract.HookSpec{}.TimeLimit())
	require.Equal(t, time.Second, contract.HookSpec{Timeout: time.Second}.TimeLimit())
}

func TestEscalation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request contract.StopRequest
		after   time.Duration
		ok      bool
	}{
		{contract.StopRequest{}, 0, false},
		{contract.StopRequest{Mode: contract.AfterInference}, 0, false},
		{contract.StopRequest{Mode: contract.AfterStep, Within: contract.Span(time.Minute)}, time.Minute, true},
		{contract.StopRequest{Mode: contract.StopNow, Within: contract.Span(time.Minute)}, 0, true},
		{contract.StopRequest{Mode: contract.AfterStep, Within: contract.AtOnce}, 0, true},
	} {
		after, ok := c.request.Escalation()
		require.Equal(t, c.ok, ok)
		require.Equal(t, c.after, after)
	}
}
