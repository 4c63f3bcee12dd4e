package whole_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const waitingAgent = `model: scripted/waiting.yaml
tools: [write_file, list_files]
approvals:
  - {tool: write_file, arguments: {path: "*.draft"}, then: allow}
  - {tool: write_file, then: ask}
`

const waitingScript = `turns:
  - text: I write it down.
    tool_calls: [{name: write_file, arguments: '{"path": "answer.txt",  "content": "42\n"}'}, {name: list_files, arguments: {path: .}}]
  - text: Written.
`

// TestCLIApprovalOutlivesEverything: a call waits, every process is killed, the server is started again on its file, and
// the call is approved: it runs once, with exactly the bytes that were shown.
func TestCLIApprovalOutlivesEverything(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.file("waiting.yaml", waitingScript)
	c.file("writer.yaml", waitingAgent)
	c.start("run", "--agent", "writer.yaml", "--id", "w", "go").untilErr("waits for approval").kill()
	c.quiet()
	dev := c.dev()
	require.NoFileExists(t, filepath.Join(c.dir, "answer.txt"))
	got := c.do("deny", "w", "ffffffff")
	require.Equal(t, 6, got.code, got.err)
	require.Contains(t, got.err, "no approval of a call that begins with ffffffff waits")
	shown := c.ok("approvals", "w")
	require.Contains(t, shown, `{"path": "answer.txt", "content": "42\n"}`)
	call := c.waits("w")
	require.Equal(t, `{"path": "answer.txt",  "content": "42\n"}`, call.Arguments)
	require.Contains(t, shown, "by rule 2 (write_file: ask)")
	require.Contains(t, c.ok("status", "w"), "write_file waits for approval")
	got = c.do("approve", "w")
	require.Equal(t, 2, got.code, got.err)
	require.Contains(t, got.err, "starter approve w "+call.ToolExecutionID[:8])
	c.ok("approve", "w", call.ToolExecutionID[:8], "--by", "ann", "--reason", "it is right")
	require.Equal(t, "Written.\n", c.ok("result", "w"))
	written, err := os.ReadFile(filepath.Join(c.dir, "answer.txt"))
	require.NoError(t, err)
	require.Equal(t, "42\n", string(written))
	require.Contains(t, c.ok("explain", "w"), "approved by ann")
	got = c.do("approve", "w")
	require.Equal(t, 6, got.code, got.err)
	require.Equal(t, 1, strings.Count(c.ok("watch", "w", "--json"), `"type":"WaitClosed"`))
	require.Contains(t, c.do("approvals").err, "nothing waits for a person")
	require.Equal(t, 0, dev.interrupt().wait().code)
}

// TestCLIAsksUnlessToldOtherwise: an agent that says nothing of approvals waits with what does not only read, run
// without a terminal says how to answer, also where it is quiet, and a word of the worker's or of run lets all run.
func TestCLIAsksUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	c := newCLI(t).on("EVERSTEP_APPROVALS=")
	c.file("waiting.yaml", waitingScript)
	args := []string{"run", "--quiet", "--model", "scripted/waiting.yaml", "--tool", "write_file,list_files"}
	run := c.start(append(args, "--id", "asks", "go")...).untilErr("starter deny asks ")
	require.Contains(t, run.err.String(), "write_file waits until somebody decides: `starter approve asks ")
	require.NoFileExists(t, filepath.Join(c.dir, "answer.txt"))
	require.Contains(t, c.ok("approvals"), "no rule, and its effect is idempotent")
	c.ok("approve", "asks", c.waits("asks").ToolExecutionID)
	require.Equal(t, "Written.\n", run.wait().out)
	c.quiet()
	for id, all := range map[string]*cli{"by-flag": c, "by-worker": c.on("EVERSTEP_APPROVALS=allow")} {
		more := []string{"--id", id, "go"}
		if id == "by-flag" {
			more = append(more, "--approvals", "allow")
		}
		got := all.do(append(args, more...)...)
		require.Equal(t, 0, got.code, got.err)
		require.NotContains(t, got.err, "waits")
		all.quiet()
	}
}

// A waitingCall is what approvals tells of a call.
type waitingCall struct {
	ToolExecutionID string `json:"tool_execution_id"`
	Arguments       string `json:"arguments"`
}

// waits is the only call of an agent that waits.
func (c *cli) waits(id string) waitingCall {
	c.t.Helper()
	var calls []waitingCall
	require.NoError(c.t, json.Unmarshal([]byte(c.ok("approvals", id, "--json")), &calls))
	require.Len(c.t, calls, 1)
	return calls[0]
}

// types types a line at each question, until the screen shows what comes of it.
func (x *terminal) types(line, until string) {
	x.t.Helper()
	questions := func() int { return strings.Count(x.out.String(), "d decides later") }
	there := func() bool { return strings.Contains(x.out.String(), until) }
	for answered := 0; ; {
		require.Eventually(x.t, func() bool { return there() || questions() > answered }, patience, 20*time.Millisecond, "%s", x.out)
		if there() {
			return
		}
		answered = questions()
		_, err := x.master.WriteString(line + "\n")
		require.NoError(x.t, err)
	}
}

// TestCLIAsksInPlace: on a terminal a person answers where the run is followed. What was decided elsewhere meanwhile is
// not asked any more, what was typed before a call was shown is no word about it, and the answer is the run's as ever.
func TestCLIAsksInPlace(t *testing.T) {
	t.Parallel()
	c := newCLI(t).on("EVERSTEP_APPROVALS=", xterm)
	c.file("three.yaml", `turns:
  - text: I write.
    tool_calls:
      - {name: write_file, arguments: '{"path": "a.txt",  "content": "A"}'}
      - {name: write_file, arguments: '{"path": "b.txt", "content": "B"}'}
      - {name: write_file, arguments: '{"path": "c.txt", "content": "C"}'}
  - text: Written.
`)
	x := c.terminal("run", "--id", "asked", "--model", "scripted/three.yaml", "--tool", "write_file", "go")
	_, err := x.master.WriteString("y\ny\ny\n") // before anything is asked
	require.NoError(t, err)
	x.untilOut("d decides later")
	require.Contains(t, x.out.String(), `{"path": "a.txt", "content": "A"}`)
	x.types("n not this one", "denied by ")
	x.types("y", "approved by ")
	x.untilOut(`"content": "C"}`)
	y := c.terminal("approve", "asked", "--by", "ann")
	y.untilOut("y runs it, all else leaves it waiting: ")
	require.Contains(t, y.out.String(), `{"path": "c.txt", "content": "C"}`)
	_, err = y.master.WriteString("y\n")
	require.NoError(t, err)
	require.Equal(t, 0, y.wait().code)
	got := x.wait()
	require.Equal(t, 0, got.code)
	require.Contains(t, got.out, "approved by ann")
	require.Contains(t, got.out, "Written.")
	for name, there := range map[string]bool{"a.txt": false, "b.txt": true, "c.txt": true} {
		_, err := os.Stat(filepath.Join(c.dir, name))
		require.Equal(t, there, err == nil, name)
	}
	require.NotContains(t, ours.ReplaceAllString(got.out, ""), "\x1b")
}

// TestCLIAlways: a call is always allowed where it is asked about, by a key or by a command, is made in the next execution
// without a question, listed, and asked about again once that is revoked.
func TestCLIAlways(t *testing.T) {
	t.Parallel()
	c := newCLI(t).on("EVERSTEP_APPROVALS=", xterm)
	one := `  - tool_calls: [{name: write_file, arguments: {path: a.txt, content: A}}]
  - text: Written.
`
	c.file("always.yaml", "turns:\n"+strings.Repeat(one, 3))
	run := []string{"run", "--id", "w", "--model", "scripted/always.yaml", "--tool", "write_file", "go"}
	x := c.terminal(run...)
	x.types("a as agreed", "approved by ")
	require.Equal(t, 0, x.wait().code)
	c.quiet()
	got := c.do(run...)
	require.Equal(t, 0, got.code, got.err)
	require.Contains(t, got.err, "always (")
	require.NotContains(t, got.err, "waits for approval")
	c.quiet()
	dev := c.dev()
	require.Contains(t, c.ok("explain", "w"), "always (")
	listed := c.ok("approvals", "w")
	require.Contains(t, listed, "1 standing approval")
	require.Contains(t, listed, `write_file {"path":"a.txt","content":"A"}`)
	require.Contains(t, listed, ": as agreed")
	var status struct {
		Standing []struct {
			ID string `json:"id"`
		} `json:"standing_approvals"`
	}
	require.NoError(t, json.Unmarshal([]byte(c.ok("status", "w", "--json")), &status))
	require.Len(t, status.Standing, 1)
	rule := status.Standing[0].ID[:8]
	require.Contains(t, c.ok("status", "w"), "revoke w "+rule)
	require.Equal(t, 6, c.do("revoke", "w", "ffffffff").code)
	require.Contains(t, c.do("revoke", "w", rule, "--by", "bob", "--reason", "no more").err, "revoked by bob")
	require.Equal(t, 6, c.do("revoke", "w", rule).code)
	require.NotContains(t, c.ok("approvals", "w"), rule)
	c.ok("start", "--id", "w", "go")
	c.start("watch", "w").untilErr("waits for approval").kill()
	got = c.do("approve", "w", c.waits("w").ToolExecutionID, "--always")
	require.Equal(t, 0, got.code, got.err)
	require.Contains(t, got.err, "starter revoke w ")
	require.Equal(t, "Written.\n", c.ok("result", "w"))
	require.Equal(t, 0, dev.interrupt().wait().code)
}

// TestCLIEdits: what a person gives in place of a call's arguments runs, by a command and where the call is asked about;
// what does not fit is named, and the call waits.
func TestCLIEdits(t *testing.T) {
	t.Parallel()
	c := newCLI(t).on("EVERSTEP_APPROVALS=", xterm)
	c.file("edits.yaml", `turns:
  - tool_calls: [{name: write_file, arguments: {path: a.txt, content: A}}]
  - tool_calls: [{name: write_file, arguments: {path: b.txt, content: B}}]
  - text: Written.
`)
	c.file("arguments.json", `{"path": "b.txt", "content": "BB"}`)
	x := c.terminal("run", "--id", "w", "--model", "scripted/edits.yaml", "--tool", "write_file", "go")
	x.types(`e {"path": 7}`, "arguments: do not fit write_file")
	x.types(`e {"path": "a.txt", "content": "AA"}`, `"content":"B"}`)
	call := c.waits("w").ToolExecutionID
	require.Equal(t, 2, c.do("approve", "w", call, "--edit", "").code)
	require.Equal(t, 2, c.do("approve", "w", call, "--edit", "@none.json").code)
	require.Equal(t, 2, c.do("approve", "w", call, "--edit", "{}", "--always").code)
	got := c.do("approve", "w", call, "--edit", `{"path": "b.txt"}`)
	require.NotEqual(t, 0, got.code)
	require.Contains(t, got.err, "content")
	c.ok("approve", "w", call, "--edit", "@arguments.json", "--by", "ann")
	require.Equal(t, 0, x.wait().code)
	for name, want := range map[string]string{"a.txt": "AA", "b.txt": "BB"} {
		written, err := os.ReadFile(filepath.Join(c.dir, name))
		require.NoError(t, err)
		require.Equal(t, want, string(written))
	}
	c.quiet()
	dev := c.dev()
	require.Contains(t, c.ok("explain", "w"), `with other arguments than {"path":"b.txt","content":"B"}`)
	require.Contains(t, c.ok("messages", "w"), "A person has put other arguments in the place of yours")
	require.Equal(t, 0, dev.interrupt().wait().code)
}
