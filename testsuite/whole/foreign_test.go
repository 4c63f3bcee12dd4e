package whole_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
	agents "everstep/starter/client"
	"everstep/worker/host"
)

// beginForeign starts an agent past all clients, under an id of its own, and
// waits until the worker has refused it.
func (s *stack) beginForeign(t *testing.T, id string) (agents.Execution, *temporal.ApplicationError) {
	t.Helper()
	identity, err := domain.AgentIDOf(uuid.NewString())
	require.NoError(t, err)
	run, err := s.temporal.ExecuteWorkflow(within(t), sdk.StartWorkflowOptions{ID: id, TaskQueue: s.queue}, string(contract.Execute),
		contract.SessionInput{AgentID: identity, Prompt: "go", Definition: scripted(longScript(t, 1, 1))})
	require.NoError(t, err)
	var refused *temporal.ApplicationError
	require.ErrorAs(t, run.Get(within(t), nil), &refused)
	return agents.Execution{WorkflowID: run.GetID(), RunID: run.GetRunID()}, refused
}

// TestForeignAgentsAreRefusedAndListed: what reaches the server past all clients
// does nothing, and is seen.
func TestForeignAgentsAreRefusedAndListed(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	c := newCLI(t).at(s)
	id := "foreign/" + s.queue
	_, refused := s.beginForeign(t, id)
	require.Equal(t, string(domain.Invalid), refused.Type())
	require.Contains(t, refused.Message(), id)

	var foreign []map[string]any
	require.Eventually(t, func() bool {
		var listed []map[string]any
		require.NoError(t, json.Unmarshal([]byte(c.ok("list", "--json")), &listed))
		foreign = nil
		for _, one := range listed {
			if one["id"] == id {
				foreign = append(foreign, one)
			}
		}
		return len(foreign) == 1 && foreign[0]["status"] == "failed"
	}, patience, 20*time.Millisecond)
	require.Equal(t, true, foreign[0]["foreign"])
	require.Equal(t, id, foreign[0]["workflow_id"])
	require.Regexp(t, id+` +foreign `, c.ok("list"))
}
