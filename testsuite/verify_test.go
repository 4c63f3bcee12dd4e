package testsuite_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/testsuite"
)

// TestAFakeSaysWhatBecameOfItsCall, where it is given a Verify.
func TestAFakeSaysWhatBecameOfItsCall(t *testing.T) {
	t.Parallel()
	pay := testsuite.NewFake(domain.ToolSpec{Name: "pay"}, testsuite.Unknown("the line broke"),
		tool.Verify(func(context.Context, json.RawMessage) (tool.Finding, error) {
			return tool.Happened("receipt 4711", "it is in the journal"), nil
		}))
	run := running(t, pay, calls("pay", 1), testsuite.Turn{Text: "Paid."})
	require.Equal(t, domain.StatusCompleted, run.Outcome.Status)
	call := run.ToolExecutions()[0]
	require.Equal(t, "receipt 4711", call.Value)
	require.Equal(t, domain.VerdictDone, call.Wait(domain.WaitOutcome).Verdict())
	require.Zero(t, run.Outcome.UnknownOutcomes)
}
