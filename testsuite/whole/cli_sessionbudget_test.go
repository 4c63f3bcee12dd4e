package whole_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCLISessionBudget: a session reaches the budget over all its executions, each command tells that it was the
// session's, a message is refused, and a new total lets it go on.
func TestCLISessionBudget(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	id := s.named("frugal")
	c.script("frugal.yaml", `
turns:
  - {text: one, tool_calls: [{name: list_files, arguments: {}}], usage: {input_tokens: 1000, output_tokens: 100}}
  - {text: two, usage: {input_tokens: 1000, output_tokens: 100}}
  - {text: three, tool_calls: [{name: list_files, arguments: {}}], usage: {input_tokens: 1000, output_tokens: 100}}
  - {text: four, usage: {input_tokens: 1000, output_tokens: 100}}
`)
	file := c.file("agent.yaml", "model: scripted/frugal.yaml\ntools: [list_files]\nbudget: {max_steps: 9}\nsession_budget: {max_steps: 3, max_tokens: 50000}\n")
	run := func(args ...string) said {
		return c.do(append([]string{"run", "--id", id, "--agent", file}, args...)...)
	}
	got := run("go")
	require.Equal(t, 0, got.code, got.err)
	got = run("more")
	require.Equal(t, 3, got.code, got.err)
	require.Contains(t, got.err, "the session's max_steps is 3 and 3 are done")
	require.Contains(t, c.ok("list"), "steps_limit of the session")
	require.Contains(t, c.ok("executions", id), "(steps_limit of the session)")
	require.Contains(t, c.ok("status", id), "in all 3 steps (0 left)")
	require.Contains(t, c.ok("status", id), "steps_limit of the session")
	explained := c.ok("explain", id)
	require.Contains(t, explained, "extend "+id+" --session --max-steps 6")
	require.Contains(t, explained, "after that it goes on where it stopped")
	require.NotContains(t, explained, "raise the limit, and it goes on")
	require.Contains(t, c.ok("explain", id, "--tree"), "stopped (steps_limit of the session)")
	status := c.json("status", id)
	require.Equal(t, map[string]any{"max_steps": 3.0, "max_tokens": 50000.0}, status["session_budget"])
	require.Equal(t, map[string]any{"max_steps": 0.0, "max_tokens": 46700.0}, status["session_budget_left"])
	require.Equal(t, map[string]any{"max_steps": 9.0}, status["budget"])
	outcome := object(t, c.do("result", id, "--json").out)["outcome"].(map[string]any)
	require.Equal(t, true, outcome["session_limit"])
	require.InDelta(t, 3, outcome["session_spent"].(map[string]any)["steps"], 0)

	for name, got := range map[string]said{"send": c.do("send", id, "again"), "run": run("again"), "extend": c.do("extend", id, "--max-steps", "99")} {
		require.Equal(t, 6, got.code, "%s: %s", name, got.err)
		requireOneError(t, got.err, map[string]string{"send": "send: ", "run": "send: ", "extend": "extend: "}[name], "the session's max_steps is 3 and 3 are done", "--session")
	}
	for says, args := range map[string][]string{
		"max_seconds: is no limit of a session": {"--max-seconds", "9"}, "deadline: is no limit of a session": {"--deadline", "none"}, "extend: no new total of the session is given": {},
	} {
		got := c.do(append([]string{"extend", id, "--session"}, args...)...)
		require.Contains(t, []int{1, 2}, got.code)
		requireOneError(t, got.err, says)
	}
	extended := c.json("extend", id, "--session", "--max-steps", "20")
	require.Equal(t, false, extended["began"])
	require.Equal(t, map[string]any{"max_steps": 17.0, "max_tokens": 46700.0}, extended["session_budget_left"])
	require.Contains(t, c.do("extend", id, "--session", "--max-steps", "20").err, "may use 20 steps (17 left)")
	got = c.do("extend", id, "--wait")
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, "four\n", got.out)
	require.Equal(t, []any{"session_budget"}, c.json("update", id, "--agent", file)["fields"], "the file takes the extension back")
}
