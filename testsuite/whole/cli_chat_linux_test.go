package whole_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A sitting is a conversation on a terminal of its own, which is the terminal of its session.
type sitting struct {
	*terminal
	columns uint16
}

// chat begins a conversation on a terminal of so many columns.
func (c *cli) chat(columns uint16, args ...string) sitting {
	c.t.Helper()
	cmd := exec.Command(c.bin, append([]string{"chat"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return sitting{c.onTerminalOf(columns, cmd), columns}
}

var strokes = regexp.MustCompile(`\x1b\[[0-9;?>=]*[a-zA-Z$]*|\x1b[()][0-9A-B]|\x1b[=>78M]|\s`)

// sees waits until a text was drawn. Blanks may be jumped over, and what stands there already is drawn again only where
// the terminal has another width.
func (s sitting) sees(text string) sitting {
	s.t.Helper()
	want := strokes.ReplaceAllString(text, "")
	seen := func() bool { return strings.Contains(strokes.ReplaceAllString(s.out.String(), ""), want) }
	wider := uint16(0)
	require.Eventually(s.t, func() bool {
		wider = 1 - wider
		err := unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: s.columns + wider})
		return seen() || err != nil || !s.running()
	}, patience, 500*time.Millisecond, "never drew %q", text)
	require.True(s.t, seen(), "ended without %q: %q", text, s.out)
	return s
}

func (s sitting) types(text string) sitting {
	s.t.Helper()
	_, err := s.master.WriteString(text)
	require.NoError(s.t, err)
	return s
}

// TestCLIChat: a chat is begun, left by closing the terminal while a call waits, everything is started again, and it is
// taken up on a wider terminal, where the call is decided; the next turn is stopped by Ctrl-C, and two more leave.
func TestCLIChat(t *testing.T) {
	t.Parallel()
	c := newCLI(t).on("EVERSTEP_APPROVALS=", xterm)
	c.file("talk.yaml", `turns:
  - text: I write it down.
    reasoning: It is to be kept.
    tool_calls: [{name: write_file, arguments: {path: note.txt, content: kept}}]
  - text: It is written.
  - {delay: 60s, text: "`+strings.Repeat("word ", 200)+`"}
`)
	s := c.chat(80, "notes", "--model", "scripted/talk.yaml", "--tool", "write_file").sees("new session")
	s.types("Keep this,").types("\x1b\r").types("please.\r").sees("y runs it")
	require.NoError(t, s.master.Close())
	require.Equal(t, 130, s.wait().code, "it goes on")
	c.quiet()
	require.NoFileExists(t, filepath.Join(c.dir, "note.txt"))

	dev := c.dev()
	s = c.chat(140, "note").sees("Keep this,").sees("I write it down.").sees("y runs it")
	written := func() bool { _, err := os.Stat(filepath.Join(c.dir, "note.txt")); return err == nil }
	s.types("y")
	require.Eventually(t, func() bool {
		s.types("\r") // one that comes at once counts for nothing
		return written()
	}, patience, time.Second)
	require.Equal(t, "It is written.\n", c.ok("result", "notes"))
	s.types("\x15").sees("It is written.").types("Now at length.\r").sees("word word").types("\x03")
	require.Eventually(t, func() bool { return c.json("status", "notes")["status"] == "stopped" }, patience, 100*time.Millisecond)
	s.sees("stopped (user_requested)").types("half a thou").sees("half a thou").types("\x03\x03")
	got := s.wait()
	require.Equal(t, 0, got.code, got.out)
	after := got.out[strings.LastIndex(got.out, "\x1b[?1049l"):]
	require.Contains(t, after, "half a thou", "what was typed is not lost")
	require.Contains(t, after, "starter chat notes")
	messages := c.ok("messages", "notes")
	for _, text := range []string{"Keep this,", "Now at length."} {
		require.Equal(t, 1, strings.Count(messages, text), text)
	}
	require.Equal(t, 0, dev.interrupt().wait().code)
}

// TestCLIChatSteers: what is typed during a turn joins it at its next step, and a turn is taken back.
func TestCLIChatSteers(t *testing.T) {
	t.Parallel()
	c := newCLI(t).on(xterm)
	c.file("talk.yaml", `turns:
  - {delay: 10s, text: "I look around in all of this folder, file by file.", tool_calls: [{name: list_files, arguments: {path: .}}]}
  - text: I have read both.
`)
	dev := c.dev()
	s := c.chat(120, "notes", "--model", "scripted/talk.yaml", "--tool", "list_files").sees("new session")
	s.types("Look around.\r").sees("I look").types("And this too.\r").sees("takes it back").sees("I have read both.")
	c.ok("result", "notes")
	messages := c.ok("messages", "notes")
	require.Equal(t, 1, strings.Count(messages, "And this too."))
	require.Less(t, strings.Index(messages, "And this too."), strings.Index(messages, "I have read both."))
	require.Len(t, c.listed("executions", "notes"), 1, "it was one turn")
	s.types("/rewind\r").sees("undoes it").types("/quit\r")
	require.Equal(t, 0, s.wait().code)
	require.Contains(t, c.ok("messages", "notes"), "(taken back: the model sees it no more)")
	require.Equal(t, 0, dev.interrupt().wait().code)
}

// TestCLIChatShowsSubagents: a sub-agent stands under the call that started it, its call is decided in place when the chat
// is taken up again after everything was started anew, and its steps are there once the turn is over, too.
func TestCLIChatShowsSubagents(t *testing.T) {
	t.Parallel()
	c := newCLI(t).on("EVERSTEP_APPROVALS=", xterm)
	c.file("root.yaml", `turns:
  - {text: I have it done., tool_calls: [{name: spawn_subagent, arguments: {subagent: writer, prompt: write}}]}
  - text: It is done.
`)
	c.file("writer.yaml", `turns:
  - {text: Here it comes., tool_calls: [{name: write_file, arguments: {path: note.txt, content: kept}}]}
  - text: It is written.
`)
	c.file("boss.yaml", `name: boss
model: scripted/root.yaml
tools: [write_file]
subagents:
  writer: {description: Writes., model: scripted/writer.yaml, tools: [write_file]}
`)
	s := c.chat(100, "notes", "--agent", "boss.yaml").sees("new session")
	s.types("Do it.\r").sees("sub-agent writer").sees("y runs it")
	require.NoError(t, s.master.Close())
	require.Equal(t, 130, s.wait().code)
	c.quiet()

	dev := c.dev()
	s = c.chat(100, "notes").sees("? writer").sees("y runs it")
	s.types("y")
	require.Eventually(t, func() bool {
		s.types("\r") // one that comes at once counts for nothing
		_, err := os.Stat(filepath.Join(c.dir, "note.txt"))
		return err == nil
	}, patience, time.Second)
	s.sees("It is done.").sees("completed · 2 steps").types("\x15/quit\r")
	require.Equal(t, 0, s.wait().code)
	s = c.chat(100, "notes").sees("It is done.").sees("↳ writer").types("\x14").sees("step 2").sees("It is written.").types("/quit\r")
	require.Equal(t, 0, s.wait().code)
	require.Equal(t, 0, dev.interrupt().wait().code)
}

// TestCLIChatNeedsATerminal: without one it says what else there is, and of a session that cannot be spoken to, why.
func TestCLIChatNeedsATerminal(t *testing.T) {
	t.Parallel()
	c := newCLI(t).on(xterm)
	got := c.do("chat", "--model", c.script("hello.yaml", "turns: [{text: hello}]"))
	require.Equal(t, 2, got.code)
	require.Contains(t, got.err, "starter send NAME")
	x := c.on("TERM=dumb").terminal("chat", "notes").wait()
	require.Equal(t, 2, x.code)
	dev := c.dev()
	c.ok("run", "--id", "shut", "--model", "scripted/hello.yaml", "hi")
	c.ok("close", "shut")
	id := c.json("run", "--model", "scripted/hello.yaml", "hi")["id"].(string)
	for args, says := range map[string]string{
		"shut":       "the session of shut has ended",
		id:           "takes one prompt",
		"shut@" + id: "which can only be read",
		"fresh":      "model: is missing",
	} {
		x := c.terminal("chat", args).wait()
		require.NotEqual(t, 0, x.code, args)
		require.Contains(t, strings.ReplaceAll(x.out, "\r\n", " "), says, args)
	}
	require.Equal(t, 0, dev.interrupt().wait().code)
}
