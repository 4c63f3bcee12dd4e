package whole_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slow is a script of three steps, of which the last takes long enough for
// things to happen meanwhile.
func slow(delay string) string {
	return `turns:
  - text: Looking.
    tool_calls: [{name: list_files, arguments: {path: .}}]
  - text: Again.
    tool_calls: [{name: list_files, arguments: {path: .}}]
  - text: 'One. Two. Three. Four. Five. Done.'
    delay: ` + delay + "\n"
}

const slowAnswer = "One. Two. Three. Four. Five. Done.\n"

// heldModel is a model that never answers what it is asked in the third step,
// until whoever asked is gone and another asks again.
const heldModel = "openai-chat/m-1"

// holding is the same user with heldModel. What it returns beside waits until
// the model has been asked what it does not answer.
func (c *cli) holding() (*cli, func()) {
	list := streamed("tool_calls", `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"list_files","arguments":"{\"path\":\".\"}"}}]}`)
	asked := make(chan struct{})
	held := func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}
	model := serveChat(c.t, list, list, held, streamed("stop", `{"content":"One. Two. Three. Four. Five. Done."}`))
	until := func() {
		select {
		case <-asked:
		case <-time.After(patience):
			require.FailNow(c.t, "the model is not asked a third time")
		}
	}
	return c.on("OPENAI_API_KEY=sk-sesame", "OPENAI_BASE_URL="+model.URL), until
}

// TestCLIRun has a run without a terminal: the answer alone on standard output,
// plain lines on standard error, no escape codes, and everything that was
// brought up gone afterwards.
func TestCLIRun(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	model := c.script("calling.yaml", calling)
	c.file("other.txt", "x")
	got := c.on("TERM=xterm-256color").do("run", "--id", "a", "--model", model, "--tool", "list_files", "look")
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, "It holds 2 entries.\n", got.out)
	require.NotContains(t, got.err, "\x1b")
	require.NotContains(t, got.err, "\r")
	requireInOrder(t, got.err,
		"a · execution 1\n", "step 1\n", "step 1: Looking.\n", `step 1: calls list_files {"path":"."}`+"\n",
		`step 1: done list_files {"path":"."} · `, "step 2\n", "completed · 2 steps · 242 tokens · ")
	require.NotContains(t, got.err, "It holds", "the answer has its own place")
	c.quiet()

	quiet := c.do("run", "--quiet", "--id", "a", "--model", model, "--tool", "list_files", "look")
	require.Equal(t, 1, quiet.code, "the script has no third turn")
	require.Equal(t, 1, strings.Count(quiet.err, "\n"), quiet.err)
	require.Empty(t, quiet.out)
}

// requireInOrder requires that texts stand in a text in this order.
func requireInOrder(t testing.TB, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		require.True(t, found, "no %q, or not in its place, in:\n%s", part, text)
		rest = after
	}
}

// TestCLIDetach leaves a run by Ctrl-C: exit 130, with how to come back. The
// execution pauses, and goes on when dev brings its server up again.
func TestCLIDetach(t *testing.T) {
	t.Parallel()
	c, held := newCLI(t).holding()
	p := c.start("run", "--id", "left", "--model", heldModel, "--tool", "list_files", "go").untilErr("step 3\n")
	held()
	got := p.interrupt().wait()
	require.Equal(t, 130, got.code, got.err)
	require.Empty(t, got.out)
	requireInOrder(t, got.err, "left left, execution 1:", "starter watch left", "starter dev")
	require.Less(t, strings.Count(got.err, "error"), 1, got.err)
	c.quiet()
	look := c.json("status", "left")
	require.Equal(t, "in_progress", look["status"], "the server is back for a look")
	require.Contains(t, []any{"history"}, look["source"], "and no worker: nothing goes on by looking")
	c.quiet()
	require.NotEmpty(t, c.ok("messages", "left"))

	dev := c.dev()
	require.Equal(t, slowAnswer, c.ok("result", "left"))
	require.InDelta(t, 3, c.json("status", "left")["step_count"], 0)
	require.Equal(t, 0, dev.interrupt().wait().code)
}

// TestCLILooksAfterARun looks at what a run has left, at each moment of the end of its dev server: while that lingers,
// while it stops, and when it is gone.
func TestCLILooksAfterARun(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: a server is begun twenty times, one after the other")
	}
	c := newCLI(t)
	model := c.script("long.yaml", "turns:\n"+strings.Repeat("  - text: Hello.\n", 20))
	looks := [][]string{{"list"}, {"status", "seen"}, {"explain", "seen"}, {"executions", "seen"}, {"result", "seen"}, {"approvals"}, {"schedule", "list"}, {"messages", "seen"}, {"steps", "seen"}, {"export", "--session", "seen"}}
	for i, look := range looks {
		c.do("run", "--id", "seen", "--model", model, "hi")
		time.Sleep(time.Duration(i) * 120 * time.Millisecond) // to meet another moment, not to wait for one
		got := c.do(look...)
		require.Equal(t, 0, got.code, "%v: %s", look, got.err)
		require.NotContains(t, got.err, "error")
	}
	for _, look := range looks {
		c.quiet()
		c.ok(look...)
	}
	c.quiet()
	got := c.do("send", "seen", "and now?", "--wait")
	require.NotContains(t, got.err, "server: none is up", "who follows has what it needs brought up")
	c.quiet()
	require.Equal(t, 5, c.do("send", "seen", "and now?").code, "nothing would carry it on")
	require.Equal(t, 4, c.do("status", "nobody").code)
}

// TestCLIKilled kills a run with SIGKILL in the middle, its server and its
// worker with it; a watch goes on to the end.
func TestCLIKilled(t *testing.T) {
	t.Parallel()
	c, held := newCLI(t).holding()
	p := c.start("run", "--id", "k", "--model", heldModel, "--tool", "list_files", "go").untilErr("step 3\n")
	held()
	p.kill()
	c.quiet()
	got := c.do("watch", "k")
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, slowAnswer, got.out)
	requireInOrder(t, got.err, "step 1\n", "step 2\n", "step 3\n", "completed · 3 steps")
	require.Equal(t, 2, strings.Count(got.err, "done list_files"), got.err)
}

// TestCLIWatchers follow one execution: two from before any worker has taken
// it, one in its middle, one after its end. All see the same, and one that
// leaves disturbs nobody.
func TestCLIWatchers(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	c := newCLI(t).at(s)
	id := strings.TrimSpace(c.ok("start", "--model", c.script("slow.yaml", slow("1s")), "--tool", "list_files", "go"))
	first, leaves := c.start("watch", id, "--json").untilOut("AgentExecutionStarted"), c.start("watch", id).untilErr("execution 1")
	w := s.work(t, workerConfig())
	t.Cleanup(w.Stop)
	first.untilOut(`"step":3`)
	during := c.start("watch", id, "--json")
	require.Equal(t, 130, leaves.interrupt().wait().code)
	plain := c.start("watch", id)
	want := told(t, first.wait())
	require.Equal(t, []string{"AgentExecutionStarted", "AgentStepStarted", "InferenceRequestStarted"}, want[:3])
	require.Equal(t, want, told(t, during.wait()))
	require.Equal(t, want, told(t, c.do("watch", id, "--json")), "after the end")
	got := plain.wait()
	require.Equal(t, slowAnswer, got.out)
	require.Equal(t, 0, got.code)
}

// told are the types of the events of a watch, but for live text, which comes
// as it can, and for news of workers.
func told(t *testing.T, got said) []string {
	t.Helper()
	require.Equal(t, 0, got.code, got.err)
	var types []string
	for _, event := range objects(t, got.out) {
		if name := event["type"].(string); !slices.Contains([]string{"text", "text_withdrawn", "no_worker"}, name) {
			types = append(types, name)
		}
	}
	return types
}

// TestCLINoWorker has nobody on the task queue: run says what is missing at once, also where it
// shows nothing, and again after 5 s, and waits; the execution is done when a worker comes.
func TestCLINoWorker(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	c := newCLI(t).at(s)
	p := c.start("run", "--model", c.script("hello.yaml", hello), "hi").untilErr("no worker has taken the work for 5 s")
	require.Greater(t, time.Since(p.began), 4*time.Second)
	quiet := c.start("run", "--quiet", "--model", c.script("quiet.yaml", hello), "hi").untilErr("no worker serves task queue ")
	waiting := c.ok("start", "--model", c.script("waiting.yaml", hello), "hi")
	asked := c.start("result", strings.TrimSpace(waiting)).untilErr("no worker serves task queue ")
	stopped := strings.TrimSpace(c.ok("start", "--model", c.script("stopped.yaml", hello), "hi"))
	require.Contains(t, c.do("stop", stopped).err, "no worker serves task queue ")
	require.Contains(t, c.ok("status", stopped), "task queue "+s.queue)
	w := s.work(t, workerConfig())
	t.Cleanup(w.Stop)
	require.Equal(t, 0, quiet.wait().code)
	require.Equal(t, 0, asked.wait().code)
	require.Equal(t, 3, c.do("result", stopped).code)
	got := p.wait()
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, "Hello.\n", got.out)
	require.Equal(t, 2, strings.Count(got.err, "no worker"), got.err)
	require.Contains(t, got.err, "no worker serves task queue "+s.queue+", namespace default, of the server at ")
	require.Contains(t, got.err, "waiting until one is up: task queue "+s.queue+", namespace default, server ")
}

// TestCLIStopped has a run whose execution somebody else stops in the middle of
// an inference: exit 3, the partial answer on standard output, and who said why.
func TestCLIStopped(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	id := "stopped-" + s.queue
	p := c.start("run", "--id", id, "--model", c.script("slow.yaml", slow("10s")), "--tool", "list_files", "go")
	p.untilErr("step 3\n")
	watch := c.start("watch", id, "--json").untilOut(`"type":"text"`)
	c.ok("stop", id, "--mode", "now", "--reason", "seen \x1b[31menough")
	got := p.wait()
	require.Equal(t, 3, got.code, got.err)
	require.Regexp(t, `^O[^D]*\n$`, got.out)
	requireInOrder(t, got.err, "asked to stop by user: seen ", "enough", "stopped (user_requested) · 3 steps")
	require.NotContains(t, got.err, "\x1b")
	require.Equal(t, 3, watch.wait().code)
	steps := objects(t, c.ok("steps", id, "--json"))
	require.Equal(t, true, steps[2]["interrupted"])
}

// TestCLISignals leaves a run by each signal that asks a program to go.
func TestCLISignals(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	c := newCLI(t).at(s)
	model := c.script("hello.yaml", hello)
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		p := c.start("run", "--model", model, "hi").untilErr("execution 1\n")
		require.NoError(t, p.cmd.Process.Signal(signal))
		got := p.wait()
		require.Equal(t, 130, got.code, "%s: %s", signal, got.err)
		requireInOrder(t, got.err, "execution 1: it waits for a worker on task queue "+s.queue, "starter watch", "starter stop")
	}
}

// TestCLIStdin takes a prompt from standard input, as it is.
func TestCLIStdin(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	const prompt = "first line\n\n\tüñí 世界 \u202e\n"
	p := c.prepare("run", "--quiet", "--id", "in-"+s.queue, "--model", c.script("hello.yaml", hello), "-")
	p.cmd.Stdin = strings.NewReader(prompt)
	p.begin()
	got := p.wait()
	require.Equal(t, said{out: "Hello.\n", took: got.took}, got)
	message := objects(t, c.ok("messages", "in-"+s.queue, "--json"))[0]["message"].(map[string]any)
	require.Equal(t, prompt, message["parts"].([]any)[0].(map[string]any)["text"])
}
