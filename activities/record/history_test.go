package record_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/activities/record/conformance"
	"everstep/activities/tool"
	"everstep/domain"
)

// TestAnAgentReadsItsOwnPast and no other's: neither another agent's, nor that of another session of its name.
func TestAnAgentReadsItsOwnPast(t *testing.T) {
	t.Parallel()
	store, _ := inDirectory(t)
	ann, bob := conformance.Sample(t, "ann", 30), conformance.Sample(t, "bob", 1)
	for _, r := range append(ann, bob...) {
		require.NoError(t, store.Record(t.Context(), r))
	}
	asks := func(id domain.AgentID, name string, execution domain.ExecutionID, arguments string) (string, error) {
		ctx := tool.WithExecution(context.Background(), tool.Call{AgentID: id, AgentName: name, ExecutionID: execution})
		result, err := store.Tool().Call(ctx, arguments)
		return result.Content, err
	}
	id := ann[0].AgentID
	now := id.Execution("first-run", 31)
	listed, err := asks(id, "ann", now, `{}`)
	require.NoError(t, err)
	require.Contains(t, listed, "execution 30: stopped, 1 steps")
	require.Contains(t, listed, "there are more: before 11 lists those")
	require.NotContains(t, listed, "bob")
	listed, err = asks(id, "ann", now, `{"before": 2}`)
	require.NoError(t, err)
	require.Contains(t, listed, "execution 1: completed")
	one, err := asks(id, "ann", now, `{"number": 2}`)
	require.NoError(t, err)
	require.Contains(t, one, "answered: Nothing.\nstep 1: final_response")
	_, err = asks(id, "ann", now, `{"number": 99}`)
	require.ErrorContains(t, err, "number: no execution 99")

	later := id.Execution("another-run", 1)
	listed, err = asks(id, "ann", later, `{}`)
	require.NoError(t, err)
	require.Equal(t, "no earlier execution of this session is recorded", listed, "another session of the name acts for somebody else")
	_, err = asks(id, "ann", later, `{"number": 2}`)
	require.Error(t, err)
	listed, _ = asks(domain.AgentID{UUID: uuid.New()}, "", domain.ExecutionID{UUID: uuid.New()}, `{"agent_id": "`+id.String()+`"}`)
	require.NotContains(t, listed, "execution 1")
}
