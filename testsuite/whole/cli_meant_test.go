package whole_test

import (
	"everstep/domain"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const meantScript = `turns:
  - tool_calls: [{name: ask_user, arguments: {question: 'Where to?', schema: {type: object}}}]
  - tool_calls: [{name: write_file, arguments: {path: a.txt, content: x}}]
  - text: done
  - text: more
`

// TestCLINamesTheCommandThatIsMeant where another one is given for what waits, or too little of an id.
func TestCLINamesTheCommandThatIsMeant(t *testing.T) {
	t.Parallel()
	c := newCLI(t).on("EVERSTEP_BUILTIN_TOOLS=ask_user", "EVERSTEP_APPROVALS=writes")
	c.dev()
	refused := func(code int, says string, args ...string) {
		t.Helper()
		got := c.do(args...)
		require.Equal(t, code, got.code, "%v: %s%s", args, got.out, got.err)
		require.Contains(t, got.err, says, "%v", args)
	}
	untilWaits := func(kind domain.WaitKind) (call string) {
		t.Helper()
		require.Eventually(t, func() bool {
			for _, one := range listOf(c.json("status", "meant")["waits"]) {
				if one["kind"] == string(kind) {
					call, _ = one["tool_execution_id"].(string)
				}
			}
			return call != ""
		}, patience, 50*time.Millisecond)
		return call
	}
	c.ok("start", "--id", "meant", "--model", c.script("meant.yaml", meantScript), "--tool", "ask_user,write_file", "go")
	call := untilWaits(domain.WaitQuestion)
	refused(6, "`starter answer meant` answers it", "approve", "meant")
	refused(6, "`starter answer meant` answers it", "deny", "meant", call)
	refused(2, `starter answer meant --value '{"…": …}'`, "answer", "meant", "Berlin")
	refused(2, "give it with --value JSON", "answer", "meant")
	refused(2, "give at least 4 characters", "answer", "meant", call[:3], "--value", "{}")
	require.Contains(t, c.ok("status", "meant"), "answer meant "+call[:8]+" --value JSON")
	refused(2, `"me" is short for a command that changes an agent; write at least 4 characters of meant`, "answer", "me", "--value", "{}")
	c.ok("answer", "mean", call[:4], "--value", "{}")
	call = untilWaits(domain.WaitApproval)
	refused(6, "`starter approve meant "+call[:8]+"` or `starter deny meant "+call[:8]+"` decides about it", "answer", "meant", "Berlin")
	refused(2, "give at least 4 characters", "approve", "meant", call[:2])
	c.ok("approve", "meant", call[:4])
	c.ok("result", "me")

	refused(2, `there is no "nosuch"; there are list_files, read_file, search_files, write_file, edit_file, ask_user;`, "update", "meant", "--tool", "nosuch")
	refused(2, "http_get is off on the worker that process ", "update", "meant", "--tool", "http_get")
	refused(2, `there is no "nosuch"; there are list_files`, "run", "--model", "openai/gpt-5-mini", "--tool", "nosuch", "hi")
	c.ok("update", "meant", "--system", "Be short.")
	require.Contains(t, c.ok("status", "meant"), "next      another definition from execution 2 on: system_prompt; updated by ")

	c.ok("suspend", "meant", "--reason", "an audit")
	refused(6, "`starter unsuspend meant` has it take messages again", "send", "meant", "hi")
	require.Contains(t, c.ok("list", "--status", "suspended"), "completed, suspended")
	require.NotContains(t, c.ok("list", "--status", "idle"), "meant")
	c.ok("schedule", "create", "audit", "--cron", "@yearly", "--id", "meant", "--model", c.script("meant.yaml", meantScript), "hi")
	c.ok("schedule", "trigger", "audit")
	require.Eventually(t, func() bool {
		shown := c.ok("schedule", "show", "audit")
		return strings.Contains(shown, " did nothing: send: the session is suspended since ") && strings.Contains(shown, "@yearly (UTC)")
	}, patience, 50*time.Millisecond)
	require.Contains(t, c.do("list", "--schedule", "nope").err, "there is no schedule nope")

	c.ok("unsuspend", "meant")
	c.ok("clear", "meant")
	c.ok("send", "meant", "anew", "--wait")
	require.Contains(t, c.ok("executions", "meant"), "completed, cleared")
	require.Contains(t, c.ok("status", "meant"), "6 messages from before the clear, of which the model sees none")
	said := c.ok("messages", "meant")
	require.Equal(t, 6, strings.Count(said, "(cleared: the model sees it no more)"), said)
	got := c.do("diff", "meant:1", "meant:2")
	require.Contains(t, got.out, "the definition differs: from execution 2 on: system_prompt; updated by ", got.err)
}

// listOf are the objects of a list in JSON.
func listOf(value any) (all []map[string]any) {
	list, _ := value.([]any)
	for _, one := range list {
		if object, ok := one.(map[string]any); ok {
			all = append(all, object)
		}
	}
	return all
}
