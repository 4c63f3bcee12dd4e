package whole_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// counting is a script of three calls and an answer.
const counting = `
turns:
  - {text: one, tool_calls: [{name: list_files, arguments: {}}], usage: {input_tokens: 1000, output_tokens: 100}}
  - {text: two, tool_calls: [{name: list_files, arguments: {}}], usage: {input_tokens: 1000, output_tokens: 100}}
  - {text: three, tool_calls: [{name: list_files, arguments: {}}], usage: {input_tokens: 1000, output_tokens: 100}}
  - {text: '{"count": 3}', usage: {input_tokens: 1000, output_tokens: 100}}
`

// TestCLIExtend stops an agent at a limit, goes on with it, and reads its answer
// as a value, its cost and its events.
func TestCLIExtend(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	id, model := uuid.NewString(), c.script("counting.yaml", counting)
	c.file("count.schema.json", `{"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}`)
	got := c.do("run", "--id", id, "--model", model, "--tool", "list_files", "--max-steps", "2", "--max-cost", "0.10",
		"--price", "input=1,output=10", "--output", "count.schema.json", "count")
	require.Equal(t, 3, got.code, got.err)
	require.Contains(t, got.err, "$0.004")
	require.Equal(t, 6, c.do("pause", id).code)
	require.Equal(t, 6, c.do("resume", id).code)

	got = c.do("extend", id, "--max-steps", "9", "--max-cost", "none", "--wait", "--json")
	require.Equal(t, 0, got.code, got.err)
	result := object(t, got.out)
	require.InDelta(t, 2, result["execution_number"], 0)
	require.Equal(t, map[string]any{"count": 3.0}, result["output"])
	require.InDelta(t, 4_000_000, result["cost_nano_usd"], 0)
	require.Equal(t, result["output"], c.json("result", id)["output"])
	got = c.do("extend", id, "--max-steps", "20")
	require.Equal(t, 6, got.code)
	requireOneError(t, got.err, "execution 2 of "+id, "run` starts another agent")

	status := c.json("status", id)
	require.InDelta(t, 4_000_000, status["cost_nano_usd"], 0)
	require.InDelta(t, 2, status["prior"].(map[string]any)["steps"], 0)
	require.InDelta(t, 4_000_000, status["prior"].(map[string]any)["cost_nano_usd"], 0)
	require.InDelta(t, 5, status["budget_left"].(map[string]any)["max_steps"], 0)
	require.Contains(t, c.ok("status", id), "goes on")
	for _, step := range objects(t, c.ok("steps", id, "--execution", "1", "--json")) {
		require.InDelta(t, 2_000_000, step["cost_nano_usd"], 0)
	}
	for number, last := range map[string]string{"1": "stopped", "2": "completed"} {
		got := c.do("watch", id, "--json", "--execution", number)
		events := objects(t, got.out)
		require.Equal(t, map[string]int{"stopped": 3, "completed": 0}[last], got.code, got.err)
		for i, event := range events {
			require.InDelta(t, i+1, event["sequence"], 0)
		}
		require.Equal(t, "AgentExecutionStarted", events[0]["type"])
		require.Equal(t, last, events[len(events)-1]["status"])
	}
}

// TestCLIPause pauses and resumes a running agent.
func TestCLIPause(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	id := s.named("pausing")
	c.ok("start", "--id", id, "--model", c.script("slow.yaml", "turns:\n  - {text: one two three four, delay: 60s}\n"), "hi")
	p := c.start("watch", id, "--json")
	p.untilOut("InferenceRequestStarted")
	require.Equal(t, true, c.json("pause", id)["changed"])
	require.Equal(t, false, c.json("pause", id)["changed"])
	require.Equal(t, true, c.json("status", id)["paused"])
	got := c.do("extend", id)
	require.Equal(t, 2, got.code)
	requireOneError(t, got.err, "extend:", "in progress", "max_steps")
	extended := c.json("extend", id, "--max-tokens", "100000")
	require.Equal(t, false, extended["began"])
	c.ok("stop", id, "--mode", "now")
	watched := p.wait()
	require.Equal(t, 3, watched.code, watched.err)
	var last struct{ Type, Status string }
	lines := objects(t, watched.out)
	encoded, err := json.Marshal(lines[len(lines)-1])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(encoded, &last))
	require.Equal(t, "stopped", last.Status)
}
