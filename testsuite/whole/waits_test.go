package whole_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// waitsScript sleeps and waits at once, and keeps a list of things to do.
const waitsScript = `
turns:
  - tool_calls:
      - {name: todo, arguments: {items: [{text: rest, status: doing}, {text: go on}]}}
      - {name: sleep, arguments: {seconds: 2}}
      - {name: wait_until, arguments: {time: "2001-01-01T00:00:00Z"}}
  - tool_calls: [{name: todo, arguments: {}}]
  - text: '{{ result "todo" }}'
  - tool_calls: [{name: todo, arguments: {}}]
  - text: '{{ result "todo" }}'
`

// TestASleepOutlivesItsWorker: no worker is there while a call waits, and the list of things to do is the
// session's, read by the next execution too.
func TestASleepOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	config := host.Config{BuiltinTools: []string{"sleep", "wait_until", "todo"}, Storage: t.TempDir()}
	s := start(t, config)
	id := s.named("sleeper")
	_, err := s.agents.Start(within(t), client.Start{ID: id, Prompt: "go", Definition: scripted(writeScript(t, waitsScript), "sleep", "wait_until", "todo")})
	require.NoError(t, err)
	s.doing(t, id, "sleep waits until")
	s.worker.Stop()
	second := s.work(t, config)
	t.Cleanup(second.Stop)
	result, err := s.agents.Wait(within(t), id, 1)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)
	require.Equal(t, "[~] rest\n[ ] go on", result.Answer)
	steps := collect(t, s.agents.Steps(within(t), id, 1))
	require.Contains(t, steps[0].Step.ToolExecutions[1].Value, "waited; it is now ")
	require.Contains(t, steps[0].Step.ToolExecutions[2].Value, "2001-01-01T00:00:00Z is past; it is now ")
	require.GreaterOrEqual(t, steps[0].Step.ToolExecutions[1].Duration().Seconds(), 2.0)
	list := []domain.TodoItem{{Text: "rest", Status: "doing"}, {Text: "go on"}}
	require.EventuallyWithT(t, func(c *assert.CollectT) { // the worker is new: the server may not know it yet
		status, err := s.agents.Status(within(t), id)
		assert.NoError(c, err)
		assert.Equal(c, list, status.Todo, status.Server.Source)
		view, err := s.agents.Explain(within(t), id, 1)
		assert.NoError(c, err)
		assert.Equal(c, list, view.Todo)
	}, patience, 100*time.Millisecond)

	_, err = s.agents.Send(within(t), id, client.SendOptions{Prompt: "again"})
	require.NoError(t, err)
	result, err = s.agents.Wait(within(t), id, 2)
	require.NoError(t, err)
	require.Equal(t, "[~] rest\n[ ] go on", result.Answer)
}
