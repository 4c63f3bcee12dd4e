package whole_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// listed runs a command that answers a list.
func (c *cli) listed(args ...string) (all []map[string]any) {
	c.t.Helper()
	require.NoError(c.t, json.Unmarshal([]byte(c.ok(append(args, "--json")...)), &all))
	return all
}

// TestCLIFork forks an agent at a step, and reads where it comes from.
func TestCLIFork(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	id, name := uuid.NewString(), s.named("forked")
	require.Equal(t, 3, c.do("run", "--id", id, "--model", c.script("counting.yaml", counting), "--tool", "list_files", "--max-steps", "2", "count").code)
	other := c.script("other.yaml", "turns: [{text: a}, {text: b}, {text: c}, {text: d}]")
	got := c.do("fork", id[:13], "--execution", "1", "--step", "1", "--id", name, "--model", other, "--wait", "now otherwise")
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, "b\n", got.out)
	status := c.json("status", name)
	origin := c.json("status", id)
	require.Equal(t, map[string]any{"execution_id": origin["execution_id"], "step": 1.0, "agent_id": origin["agent_id"]}, status["branched_from"])
	for _, command := range []string{"status", "explain"} {
		require.Contains(t, c.ok(command, name), "from execution "+origin["execution_id"].(string)+", step 1, of agent "+id)
	}
	require.Equal(t, status["branched_from"], c.listed("executions", name)[0]["origin"])
	require.Len(t, objects(t, c.ok("messages", name, "--json")), 5)
	begun := c.json("fork", id, "--step", "0", "--model", other, "from the start")
	require.Equal(t, "a\n", c.ok("result", begun["id"].(string)))
	difference := c.json("diff", id, name)
	require.Equal(t, []any{1.0, 1.0}, []any{difference["shared_steps"], difference["equal_steps"]})
	require.InDelta(t, 2, difference["steps"].([]any)[0].(map[string]any)["step"], 0)
	require.Contains(t, c.ok("diff", id+":1", name), "they part at step 2, after 1 step without a difference")
	require.Contains(t, c.ok("diff", id, id), "no step differs")
	require.Equal(t, 4, c.do("diff", id+":9", name).code)
	got = c.do("fork", id, "--step", "3", "and")
	require.Equal(t, 4, got.code)
	requireOneError(t, got.err, "step: execution 1 of "+id+" has 2 steps, and no step 3")
	require.Equal(t, 6, c.do("fork", id, "--id", name, "and").code)
}

// TestCLIHistoryAndFilters: what an agent has done is listed, over workflows and sessions, and lists leave out what is
// not asked for. The beginning of an id is enough.
func TestCLIHistoryAndFilters(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	model, id, name := c.script("counting.yaml", counting), uuid.NewString(), s.named("past")
	require.Equal(t, 3, c.do("run", "--id", id, "--model", model, "--tool", "list_files", "--max-steps", "2", "count").code)
	c.ok("extend", id, "--max-steps", "9", "--wait")
	history := c.listed("executions", id)
	require.Len(t, history, 2)
	require.Equal(t, []any{"stopped", "steps_limit", 2.0, 2200.0}, []any{history[0]["status"], history[0]["stop_reason"], history[0]["step_count"], history[0]["total_tokens"]})
	require.Equal(t, map[string]any{"execution_id": history[0]["execution_id"], "step": 2.0}, history[1]["origin"])
	require.Contains(t, history[1], "ended_at")

	hello := c.script("hello.yaml", "turns:\n  - text: one\n  - text: two\n")
	c.ok("run", "--id", name, "--model", hello, "hi")
	c.ok("send", name, "--wait", "more")
	c.ok("close", name)
	c.ok("run", "--id", name, "--model", hello, "anew")
	require.Len(t, c.listed("executions", name), 1)
	require.Len(t, c.listed("executions", name, "--all"), 3)
	table := c.do("executions", name)
	require.Contains(t, table.err, "1 session of that name before this one")
	require.Contains(t, table.out, "EXECUTION ID")

	got := c.do("status", id[:13])
	require.Equal(t, 0, got.code, got.err)
	require.Contains(t, got.err, id[:13]+" is "+id)
	got = c.do("status", name[:len(name)-1])
	require.Equal(t, 0, got.code, got.err)
	c.ok("run", "--id", name+"-2", "--model", hello, "hi")
	require.Eventually(t, func() bool {
		got = c.do("status", name[:len(name)-1])
		return got.code == 2
	}, patience, 100*time.Millisecond)
	requireOneError(t, got.err, "id: no agent is called", "several ids begin so: ", name, "write more of the one")
	c.ok("status", name)

	ids := func(args ...string) string {
		var ids []string
		for _, agent := range c.listed(append([]string{"list"}, args...)...) {
			ids = append(ids, agent["id"].(string))
		}
		return strings.Join(ids, " ")
	}
	require.Equal(t, name+"-2 "+name, ids("--agent", name+"*", "--status", "idle", "--sort=-id"))
	require.Equal(t, name, ids("--agent", name, "--since", "1h", "--query", "ExecutionStatus = 'Running'"))
	require.Empty(t, ids("--agent", name, "--status", "failed"))
	require.Contains(t, ids("--reason", "completed", "--since", "1h"), id)
	got = c.do("list", "--query", "nonsense ((")
	require.Equal(t, 2, got.code, got.err)
	require.Contains(t, got.err, "query: the server refuses it")
	require.Equal(t, 2, c.do("list", "--columns", "odd").code)
	require.Contains(t, c.ok("list", "--columns", "id,cost,run", "--agent", name), "RUN")
}

// TestCLIDelete deletes an agent by its whole id, once somebody has said so, and tells what it did.
func TestCLIDelete(t *testing.T) {
	t.Parallel()
	config, folder := workerConfig(), t.TempDir()
	config.Storage = folder
	s := start(t, config)
	c := newCLI(t).at(s)
	name := s.named("deleted")
	c.ok("run", "--id", name, "--model", c.script("hello.yaml", "turns: [{text: one}, {text: two}]"), "hi")
	for _, refused := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{name}, 2, "--yes says so"},
		{[]string{name[:len(name)-3], "--yes"}, 2, "if " + name + " is meant, write the whole id"},
		{[]string{name, "--yes"}, 6, "is an open session"},
		{[]string{name, "--yes", "--close"}, 6, "name it with EVERSTEP_STORAGE"},
		{[]string{"nobody", "--yes"}, 4, "there is no agent \"nobody\""},
	} {
		got := c.do(append([]string{"delete"}, refused.args...)...)
		require.Equal(t, refused.code, got.code, got.err)
		require.Contains(t, strings.Join(strings.Fields(got.err), " "), refused.says)
	}
	missing := c.on("EVERSTEP_STORAGE="+folder+"/none").do("delete", name, "--yes")
	require.Equal(t, 2, missing.code, missing.err)
	done := c.on("EVERSTEP_STORAGE="+folder).json("delete", name, "--yes")
	require.InDelta(t, 1, done["deleted"].(map[string]any)["runs"], 0)
	require.InDelta(t, 1, done["deleted"].(map[string]any)["records"], 0)
	require.Equal(t, []any{}, done["remains"])
	require.Equal(t, 4, c.do("status", name).code)
	require.Equal(t, 4, c.do("send", name, "hello?").code)
	require.Empty(t, c.listed("list", "--all", "--agent", name))
}
