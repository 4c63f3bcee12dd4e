package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain/contract"
)

// One id of a caller's is another for each kind of request and each request: for the server all are of one space, and the
// second would be answered as the first was.
func TestAnIDOfARequestIsOfThatRequestAlone(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	f := newFake(run)
	seen := map[string]any{}
	f.update = func(id string, in any) (any, error) {
		if before, answered := seen[id]; answered {
			require.Equal(t, before, in, "another request would not be done")
		}
		seen[id] = in
		if _, extends := in.(contract.ExtendRequest); extends {
			return contract.ExtendReply{ExecutionID: nth(1), Number: 1}, nil
		}
		return contract.SendReply{ExecutionID: nth(1), Number: 1}, nil
	}
	send := func(prompt string) {
		_, err := f.client().Send(t.Context(), "nora", SendOptions{Prompt: prompt, IfBusy: contract.SteerIfBusy, RequestID: "order-17"})
		require.NoError(t, err)
	}
	_, err := f.client().Extend(t.Context(), "nora", ExtendOptions{Budget: steps(50), RequestID: "order-17"})
	require.NoError(t, err)
	send("stop paying")
	require.Len(t, seen, 2, "a message is not answered as new totals were")
	send("stop paying")
	require.Len(t, seen, 2, "a message that is sent again is one with the first")
	send("pay again")
	require.Len(t, seen, 3, "another message is not lost")
}
