package whole_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// turns is a script of two executions: the first at once, the second long
// enough to be met in progress.
const turns = "turns: [{text: One.}, {text: Two., delay: 60s}]"

// calling is a script with a tool call.
const calling = `turns:
  - text: Looking.
    tool_calls: [{name: list_files, arguments: {path: .}}]
    usage: {input_tokens: 100, output_tokens: 10}
  - text: 'It holds {{ len (lines (result "list_files")) }} entries.'
    usage: {input_tokens: 120, output_tokens: 12}
`

// TestCLIExitOfOutcomes are the exit codes of the commands that wait for an
// outcome: 0 completed, 1 failed, 3 stopped, and what standard output gets.
func TestCLIExitOfOutcomes(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	type outcome struct {
		script, out, err string
		flags            []string
		code             int
	}
	for name, test := range map[string]outcome{
		"completed": {script: hello, out: "Hello.\n", code: 0},
		"failed":    {script: "turns:\n  - failures: [{status: 401}]\n    text: no\n", code: 1, err: "error: "},
		"stopped":   {script: calling, flags: []string{"--max-steps=1", "--tool=list_files"}, out: "Looking.\n", code: 3},
		"past the script's end": {
			script: "turns: [{text: a, tool_calls: [{name: list_files, arguments: {path: .}}]}]",
			flags:  []string{"--tool=list_files"}, code: 1, err: "add turns",
		},
		"unknown tool": {script: hello, flags: []string{"--tool=nosuch"}, code: 1, err: "tools: this worker has no nosuch; it has:"},
	} {
		id := strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), "'", "") + "-" + s.queue
		model := c.script(id+".yaml", test.script)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &cli{t: t, bin: c.bin, dir: c.dir, state: c.state, env: c.env}
			got := c.do(append([]string{"run", "--id", id, "--model", model, "hi"}, test.flags...)...)
			require.Equal(t, test.code, got.code, "%s: %s", name, got.err)
			require.Equal(t, test.out, got.out, name)
			require.Contains(t, got.err, test.err, name)
			for _, again := range [][]string{{"result", id}, {"result", id, "--no-wait"}, {"watch", id}} {
				got := c.do(again...)
				require.Equal(t, test.code, got.code, "%v: %s", again, got.err)
				require.Equal(t, test.out, got.out, "%v", again)
			}
			for _, done := range []string{"status", "steps", "messages"} {
				c.ok(done, id)
			}
			require.Contains(t, c.ok("list"), id)
		})
	}
}

// TestCLINotFound asks for what never was: exit 4.
func TestCLINotFound(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	for _, args := range [][]string{
		{"status", "nobody"}, {"steps", "nobody"}, {"messages", "nobody"}, {"result", "nobody"},
		{"result", "nobody", "--no-wait"}, {"watch", "nobody"}, {"stop", "nobody"}, {"send", "nobody", "hi"},
		{"send", "nobody", "hi", "--wait"}, {"close", "nobody"},
	} {
		got := c.do(args...)
		require.Equal(t, 4, got.code, "%v: %s", args, got.err)
		require.Empty(t, got.out)
		requireOneError(t, got.err, "id:", `"nobody"`, "list")
	}
	id := "known-" + s.queue
	c.ok("run", "--id", id, "--model", c.script("hello.yaml", hello), "hi")
	for _, command := range []string{"steps", "result", "watch"} {
		got := c.do(command, id, "--execution", "9")
		require.Equal(t, 4, got.code, "%s: %s", command, got.err)
		requireOneError(t, got.err, "execution:", "its newest is 1")
	}
}

// TestCLIUsage are command lines that are wrong in themselves: exit 2, before
// any server is looked for.
func TestCLIUsage(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for line, says := range map[string][]string{
		"strat hi":                     {`"strat"`, "starter start"},
		"nosuchcommand":                {`"nosuchcommand"`, "--help"},
		"status":                       {"id:", "starter status notes"},
		"status a b":                   {`"b"`, "too many"},
		"status a/b":                   {"id:", "'/'"},
		"steps n --execution 0":        {"--execution:", "from 1"},
		"result n --execution x":       {"--execution:", "whole number"},
		"list --limit -1":              {"--limit:", "from 1"},
		"list me":                      {`"me"`},
		"stop n --mode later":          {"--mode:", "after_step, after_inference, now"},
		"stop n --within -1s":          {"--within:", "negative"},
		"stop n --within 5":            {"--within:", "30s"},
		"send n":                       {"message:", "starter send"},
		"send n hi --max-steps -1":     {"--max-steps:", "negative"},
		"send n hi --model x":          {"model:", "PROVIDER/MODEL"},
		"status n --jso":               {"--jso:", "--json"},
		"status n --state":             {"--state:", "needs a value"},
		"status n --json=maybe":        {"--json:", "neither true nor false"},
		"run --dir /nowhere/at/all hi": {"model:"},
		"dev --port 0":                 {"--port:", "from 1 to 65535"},
		"dev --address 127.0.0.1:1":    {"address", "leave them out"},
		"dev --dir /nowhere/at/all":    {"dir:", "name one that exists"},
		"completion cmd":               {"shell:", "bash"},
	} {
		got := c.do(strings.Fields(line)...)
		require.Equal(t, 2, got.code, "%s: %s", line, got.err)
		require.Empty(t, got.out, line)
		requireOneError(t, got.err, says...)
	}
}

// TestCLISession leads one session through its states: what each refuses, with
// exit 6, and what it takes.
func TestCLISession(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	model, id := c.script("turns.yaml", turns), "session-"+s.queue
	refused := func(says string, args ...string) {
		t.Helper()
		got := c.do(args...)
		require.Equal(t, 6, got.code, "%v: %s", args, got.err)
		require.Empty(t, got.out)
		require.Equal(t, 1, strings.Count(got.err, "\n"), got.err)
		require.Contains(t, got.err, says)
	}
	require.Equal(t, "One.\n", c.ok("run", "--id", id, "--model", model, "hi"))
	require.InDelta(t, 1, c.json("status", id)["execution_number"], 0)
	refused("system_prompt: the session has none, given is", "start", "--id", id, "--system", "You", "--model", model, "hi")
	refused("tools: ", "run", "--id", id, "--tool", "read_file", "--model", model, "hi")
	refused("completed", "stop", id)

	// The second execution is in progress.
	require.InDelta(t, 2, c.json("start", "--id", id, "--model", model, "hi again")["execution_number"], 0)
	for _, args := range [][]string{
		{"run", "--id", id, "--model", model, "more"}, {"run", "--id", id, "more"}, {"start", "--id", id, "--model", model, "more"},
		{"send", id, "more", "--refuse"}, {"send", id, "more", "--refuse", "--wait"}, {"close", id}, {"result", id, "--no-wait"},
	} {
		refused("execution 2", args...)
	}
	require.Equal(t, "in_progress", c.json("status", id)["status"])
	require.Equal(t, "One.\n", c.ok("result", id, "--execution", "1"))
	require.Empty(t, c.ok("stop", id, "--mode", "now", "--reason", "enough"))
	got := c.do("result", id)
	require.Equal(t, 3, got.code, got.err)

	// Idle again: send begins the third, close ends the session.
	other := c.script("other.yaml", "turns: [{text: One.}, {text: Three.}]")
	require.Equal(t, "Three.\n", c.ok("send", id, "and?", "--wait", "--model", other))
	require.Equal(t, map[string]any{"id": id, "executions": 3.0}, c.json("close", id))
	refused("ended", "send", id, "more")
	refused("ended", "close", id)
	refused("nothing to stop", "stop", id)
	require.Equal(t, "Three.\n", c.ok("result", id))
	require.Equal(t, "One.\n", c.ok("run", "--id", id, "--model", model, "anew"), "the name may be used again")

	// An agent without a name takes one prompt.
	unnamed := strings.TrimSpace(c.ok("start", "--model", model, "hi"))
	refused("no name", "send", unnamed, "more")
	refused("no name", "close", unnamed)
	c.tidy(unnamed)
	refused("nothing to stop", "stop", unnamed)
}

// TestCLIReadsWithoutAWorker asks what only a worker can answer, with none up: exit 5,
// and what needs none is answered.
func TestCLIReadsWithoutAWorker(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	c := newCLI(t).at(s)
	model, id := c.script("hello.yaml", hello), "idle-"+s.queue
	w := s.work(t, workerConfig())
	c.ok("run", "--id", id, "--model", model, "hi")
	w.Stop()
	sent := c.start("send", id, "more").untilErr("worker")
	for _, command := range [][]string{{"steps", id}, {"messages", id}, {"export", "--session", id}} {
		require.Contains(t, c.ok(command...), "Hello.", command)
	}
	require.Equal(t, "history", c.json("status", id)["source"])
	require.Equal(t, "Hello.\n", c.ok("result", id))
	require.Contains(t, c.ok("list"), id)
	require.Equal(t, 130, sent.interrupt().wait().code)
}

// TestCLISendsOnce what is typed again under one request id.
func TestCLISendsOnce(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	c := newCLI(t).at(s)
	model, id := c.script("thrice.yaml", hello+strings.Repeat(strings.TrimPrefix(hello, "turns:\n"), 2)), "once-"+s.queue
	s.work(t, workerConfig())
	c.ok("run", "--id", id, "--model", model, "hi")
	for range 2 {
		require.Equal(t, "Hello.\n", c.ok("send", id, "more", "--wait", "--request-id", "mine"))
	}
	require.Equal(t, float64(2), c.json("status", id)["execution_number"])
	require.Equal(t, 2, c.do("send", id, "more", "--request-id", "").code, "it is most likely a variable that is not set")
	c.ok("send", id, "more", "--wait", "--request-id", "another")
	require.Equal(t, float64(3), c.json("status", id)["execution_number"])
}
