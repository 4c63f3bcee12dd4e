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

// TestCLIHistoryAndFilters: what an agent has done is listed, over workflows and sessions, and lists leave out what is
// not asked for. The beginning of an id is enough.
func TestCLIHistoryAndFilters(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	model, id, name := c.script("counting.yaml", counting), uuid.NewString(), s.named("past")
	require.Equal(t, 3, c.do("run", "--id", id, "--model", model, "--tool", "list_files", "--max-steps", "2", "count").code)
	c.ok("extend", id, "--max-steps", "9", "--wait")
	history := c.listed("history", id)
	require.Len(t, history, 2)
	require.Equal(t, []any{"stopped", "steps_limit", 2.0, 2200.0}, []any{history[0]["status"], history[0]["stop_reason"], history[0]["step_count"], history[0]["total_tokens"]})
	require.Equal(t, map[string]any{"execution_id": history[0]["execution_id"], "step": 2.0}, history[1]["origin"])
	require.Contains(t, history[1], "ended_at")

	hello := c.script("hello.yaml", "turns:\n  - text: one\n  - text: two\n")
	c.ok("run", "--id", name, "--model", hello, "hi")
	c.ok("send", name, "--wait", "more")
	c.ok("close", name)
	c.ok("run", "--id", name, "--model", hello, "anew")
	require.Len(t, c.listed("history", name), 1)
	require.Len(t, c.listed("history", name, "--all"), 3)
	table := c.do("history", name)
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
