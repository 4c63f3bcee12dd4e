package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

// TestEndedRunIsARun: a memo that anyone may have written names no other thing, of which the server would tell nothing.
func TestEndedRunIsARun(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{"6ba7b810-9dad-11d1-80b4-00c04fd430c8": true, "": false, "no run": false} {
		payload, err := converter.GetDefaultDataConverter().ToPayload(contract.EndedRun{RunID: id})
		require.NoError(t, err)
		_, ok := history.Memo{Converter: converter.GetDefaultDataConverter(), Memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{contract.MemoResolution: payload}}}.EndedRun()
		require.Equal(t, want, ok, id)
	}
}
