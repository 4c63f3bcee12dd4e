package whole_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const askingScript = `turns:
  - text: I have to ask.
    tool_calls: [{name: ask_user, arguments: {question: "Where\u001b[2J to?"}}]
  - tool_calls: [{name: ask_user, arguments: {question: "How?", choices: [by train, by car]}}]
  - tool_calls: [{name: ask_user, arguments: {question: "How many?", schema: {type: integer}}}]
  - text: We go.
`

// waitsFor waits until a question of an agent waits whose text holds some words.
func (c *cli) waitsFor(id, words string) (call string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		var all []struct {
			Kind string `json:"kind"`
			Call string `json:"tool_execution_id"`
			Ask  struct {
				Question string `json:"question"`
			} `json:"ask"`
		}
		require.NoError(c.t, json.Unmarshal([]byte(c.ok("approvals", id, "--json")), &all))
		for _, one := range all {
			if call = one.Call; one.Kind == "question" && strings.Contains(one.Ask.Question, words) {
				return true
			}
		}
		return false
	}, patience, 100*time.Millisecond)
	return call
}

// TestCLIAnswerOutlivesEverything: a question waits, every process is killed, the server is started again on its file, and
// the question is answered there: the agent runs on with it.
func TestCLIAnswerOutlivesEverything(t *testing.T) {
	long(t)
	t.Parallel()
	c := newCLI(t).on("EVERSTEP_BUILTIN_TOOLS=ask_user")
	c.file("asking.yaml", askingScript)
	asked := c.start("run", "--model", "scripted/asking.yaml", "--tool", "ask_user", "--id", "w", "go").untilErr(`starter answer w `)
	require.NotContains(t, asked.err.String(), "\x1b", "what a model asks controls no terminal")
	asked.kill()
	c.quiet()
	dev := c.dev()
	shown := c.ok("approvals", "w")
	require.Contains(t, shown, "Where")
	require.NotContains(t, shown, "\x1b")
	require.Contains(t, c.ok("status", "w"), "ask_user waits for an answer")
	require.Eventually(t, func() bool { return strings.Contains(c.ok("list", "--waiting"), "waits for an answer") }, patience, 100*time.Millisecond)
	got := c.do("approve", "w", c.waitsFor("w", "Where")[:8])
	require.Equal(t, 6, got.code, "a question is not approved")
	require.Equal(t, 2, c.do("answer", "w").code, "nobody is there to type it")
	require.Equal(t, 6, c.do("answer", "w", "ffffffff", "Berlin").code)
	require.Equal(t, 2, c.do("answer", "w", "--choice", "1").code, "it has none")
	c.ok("answer", "w", c.waitsFor("w", "Where")[:8], "Berlin", "--by", "ann", "--reason", "asked her")
	c.waitsFor("w", "How?")
	require.Equal(t, 2, c.do("answer", "w", "--choice", "3").code)
	c.ok("answer", "w", "--choice", "1")
	c.waitsFor("w", "How many?")
	c.file("answer.json", " 2\n")
	require.Equal(t, 2, c.do("answer", "w", "--value", "two").code)
	require.NotEqual(t, 0, c.do("answer", "w", "--value", `"two"`).code)
	c.ok("answer", "w", "--value", "@answer.json")
	require.Equal(t, "We go.\n", c.ok("result", "w"))
	explained := c.ok("explain", "w")
	require.Contains(t, explained, "answered by ann ")
	require.Contains(t, explained, ": Berlin (asked her)")
	require.Contains(t, explained, ": by train")
	require.Contains(t, c.ok("messages", "w", "--json"), `"provenance":"person","said_by":"ann"`)
	watched := c.ok("watch", "w", "--json")
	require.Equal(t, 3, strings.Count(watched, `"type":"WaitOpened"`))
	require.Equal(t, 3, strings.Count(watched, `"type":"WaitClosed"`))
	require.Equal(t, 6, c.do("answer", "w", "late").code)
	require.Equal(t, 0, dev.interrupt().wait().code)
}

// TestCLIAnswersInPlace: on a terminal a person answers where the run is followed, and what does not fit is asked again.
func TestCLIAnswersInPlace(t *testing.T) {
	t.Parallel()
	c := newCLI(t).on("EVERSTEP_BUILTIN_TOOLS=ask_user", xterm)
	c.file("asking.yaml", askingScript)
	x := c.terminal("run", "--id", "w", "--model", "scripted/asking.yaml", "--tool", "ask_user", "go")
	x.replies("your answer in one line", "Berlin", "answered by ")
	x.replies("your choice or its number", "3", "that is none of the choices")
	x.replies("your choice or its number", "2", ": by car")
	x.replies("your answer as JSON", "many", "that is no JSON")
	x.replies("your answer as JSON", `"many"`, "does not fit the question's schema")
	x.replies("your answer as JSON", "7", "We go.")
	got := x.wait()
	require.Equal(t, 0, got.code)
	require.NotContains(t, ours.ReplaceAllString(got.out, ""), "\x1b")
}

// replies types a line at the newest question of a kind, until the screen shows what comes of it.
func (x *terminal) replies(question, line, until string) {
	x.t.Helper()
	asked := 0
	there := func() bool { return strings.Contains(x.out.String(), until) }
	for !there() {
		require.Eventually(x.t, func() bool { return there() || strings.Count(x.out.String(), question) > asked }, patience, 20*time.Millisecond, "%s", x.out)
		if there() {
			return
		}
		asked = strings.Count(x.out.String(), question)
		_, err := x.master.WriteString(line + "\n")
		require.NoError(x.t, err)
	}
}
