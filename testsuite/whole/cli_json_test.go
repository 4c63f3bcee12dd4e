package whole_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keysOf are the keys of a JSON object, in order.
func keysOf(value any) []string {
	return slices.Sorted(maps.Keys(value.(map[string]any)))
}

// TestCLIJSON pins the keys that scripts rely on. A key may be added; none may
// be renamed or left out where it is empty.
func TestCLIJSON(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	model, id := c.script("calling.yaml", calling), "json-"+s.queue
	result := c.json("run", "--id", id, "--model", model, "--tool", "list_files", "--max-steps", "9", "look")
	execution := []string{"agent_id", "execution_id", "execution_number", "id", "name", "run_id", "workflow_id"}
	require.Subset(t, keysOf(result), append([]string{"answer", "cost_nano_usd", "outcome", "source"}, execution...))
	require.Subset(t, keysOf(result["outcome"]), []string{"agent_id", "execution_id", "execution_number", "status", "stop_reason", "step_count", "usage"})
	require.Equal(t, "completed", result["outcome"].(map[string]any)["status"])
	require.Equal(t, keysOf(result), keysOf(c.json("result", id)))
	require.Equal(t, result["answer"], c.json("result", id, "--no-wait", "--execution", "1")["answer"])

	status := c.json("status", id)
	require.Subset(t, keysOf(status), []string{
		"agent_id", "branched_from", "budget", "budget_left", "build", "context_tokens", "context_window", "cost_nano_usd", "definition_changes", "doing", "error", "execution_id",
		"execution_number", "history", "mcp_sessions", "model", "name", "next_definition", "open", "origin", "paused",
		"prior", "progress", "rewound_to", "run_id", "since", "source", "standing_approvals", "status", "step_count",
		"stop_reason", "stop_signals", "suspended", "todo", "usage", "waiting_messages", "waits", "workflow_id",
	}, "also where there is nothing to tell")
	require.Equal(t, []string{"input_tokens", "output_tokens"}, keysOf(status["usage"]))
	require.Equal(t, result["outcome"].(map[string]any)["usage"], status["usage"])
	require.Subset(t, keysOf(status["history"]), []string{"bytes", "events"})
	require.InDelta(t, 9, status["budget"].(map[string]any)["max_steps"], 0)
	require.InDelta(t, 7, status["budget_left"].(map[string]any)["max_steps"], 0)
	require.InDelta(t, 2, status["step_count"], 0)
	require.Nil(t, status["cost_nano_usd"], "nobody knows what a script costs")
	require.Equal(t, "workflow", status["source"])
	require.Equal(t, result["execution_id"], status["execution_id"])

	requireSteps(t, c, id)
	requireMessages(t, c, id)
	requireEvents(t, c, id)
	requireListed(t, c, id)
	require.Equal(t, execution, keysOf(c.json("send", id, "more")))
	c.tidy(id)
	require.Equal(t, []string{"executions", "id"}, keysOf(c.json("close", id)))
	started := c.json("start", "--model", model, "--tool", "list_files", "look")
	unnamed := started["id"].(string)
	require.Equal(t, slices.DeleteFunc(execution, func(key string) bool { return key == "name" }), keysOf(started))
	c.tidy(unnamed)
}

func objects(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		all = append(all, object(t, l))
	}
	return all
}

func requireSteps(t *testing.T, c *cli, id string) {
	t.Helper()
	steps := objects(t, c.ok("steps", id, "--json"))
	require.Len(t, steps, 2)
	for i, step := range steps {
		require.Subset(t, keysOf(step), []string{
			"completed_at", "cost_nano_usd", "errors", "finish_reason", "number", "started_at", "step_id", "tool_executions", "type", "usage",
		})
		require.InDelta(t, i+1, step["number"], 0)
	}
	require.Equal(t, "tool_execution", steps[0]["type"])
	require.Equal(t, "tool_calls", steps[0]["finish_reason"])
	require.Len(t, steps[0]["tool_executions"], 1)
	require.Equal(t, "final_response", steps[1]["type"])
	require.Equal(t, []any{}, steps[1]["tool_executions"])
	require.Equal(t, []any{}, steps[1]["errors"])
}

func requireMessages(t *testing.T, c *cli, id string) {
	t.Helper()
	var roles []string
	for i, entry := range objects(t, c.ok("messages", id, "--json")) {
		require.InDelta(t, i, entry["index"], 0)
		roles = append(roles, entry["message"].(map[string]any)["role"].(string))
	}
	require.Equal(t, []string{"user", "assistant", "tool", "assistant"}, roles)
}

func requireEvents(t *testing.T, c *cli, id string) {
	t.Helper()
	var types []string
	for _, event := range objects(t, c.ok("watch", id, "--json")) {
		require.Subset(t, keysOf(event), []string{"execution_number", "sequence", "time", "type"})
		types = append(types, event["type"].(string))
	}
	require.Equal(t, []string{
		"AgentExecutionStarted", "AgentStepStarted", "InferenceRequestStarted", "InferenceResponseReceived", "ToolCallStarted", "ToolCallCompleted",
		"AgentStepCompleted", "TokenUsageReported", "ContinuationEvaluated", "AgentStepStarted", "InferenceRequestStarted", "InferenceResponseReceived",
		"AgentStepCompleted", "TokenUsageReported", "ContinuationEvaluated", "StopSignalReceived", "AgentExecutionStopped", "AgentExecutionCompleted",
	}, slices.DeleteFunc(types, func(name string) bool { return name == "text" }))
}

func requireListed(t *testing.T, c *cli, id string) {
	t.Helper()
	var listed []map[string]any
	require.NoError(t, json.Unmarshal([]byte(c.ok("list", "--json")), &listed))
	at := slices.IndexFunc(listed, func(agent map[string]any) bool { return agent["id"] == id })
	require.GreaterOrEqual(t, at, 0)
	require.Equal(t, []string{
		"agent_id", "build", "cost_nano_usd", "execution_number", "id", "name", "open", "run_id", "server_status", "started_at", "status", "step_count",
		"stop_reason", "total_tokens", "workflow_id",
	}, keysOf(listed[at]))
	require.Equal(t, "completed", listed[at]["status"])
	require.Equal(t, "running", listed[at]["server_status"], "the session is open")
}
