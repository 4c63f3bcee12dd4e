package client

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// TestUpdateOfAPassedDeadline is refused before a worker is asked.
func TestUpdateOfAPassedDeadline(t *testing.T) {
	t.Parallel()
	f := newFake(idleRun())
	f.update = func(string, any) (any, error) {
		t.Error("it was sent to a worker")
		return nil, errDown
	}
	d := scriptedAgent()
	d.Budget.Deadline = new(time.Now().Add(-time.Hour))
	_, err := f.client().Update(t.Context(), "nora", UpdateOptions{Definition: d})
	require.ErrorIs(t, err, &Error{Class: Invalid})
}

// TestRefusedCommandsSayWhatToDo: nothing that would be refused as well.
func TestRefusedCommandsSayWhatToDo(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	ended := newRun("run-1", nil)
	ended.ends(outcomeOf(1, 1))
	ended.status = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	_, stopped := newFake(ended).client().Stop(t.Context(), id, StopOptions{})
	_, closed := newFake(newRun("run-1", nil)).client().Close(t.Context(), id)
	_, updated := newFake(newRun("run-1", nil)).client().Update(t.Context(), id, UpdateOptions{Definition: scriptedAgent()})
	for says, err := range map[string]error{"`run` starts another agent": stopped, "`stop " + id + "` ends its execution": closed, "`fork " + id + "` begins another": updated} {
		var own *Error
		require.ErrorAs(t, err, &own, says)
		require.Contains(t, own.Next, says)
	}
}
