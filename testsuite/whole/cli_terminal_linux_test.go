package whole_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A terminal is a command that runs on a terminal of its own.
type terminal struct {
	*process
	master *os.File
}

// terminal runs a command of the starter on a new pseudo-terminal.
func (c *cli) terminal(args ...string) *terminal {
	c.t.Helper()
	return c.onTerminal(exec.Command(c.bin, args...))
}

// lastWord is what the test itself writes when a command has ended: the system
// may drop what was not yet read when the last user of a terminal goes.
const lastWord = "that was all"

// onTerminal runs a command on a new pseudo-terminal of 100 columns.
func (c *cli) onTerminal(cmd *exec.Cmd) *terminal {
	c.t.Helper()
	return c.onTerminalOf(100, cmd)
}

// onTerminalOf runs a command on a new pseudo-terminal of so many columns.
func (c *cli) onTerminalOf(columns uint16, cmd *exec.Cmd) *terminal {
	c.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(c.t, err)
	fd := int(master.Fd())
	require.NoError(c.t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(c.t, err)
	require.NoError(c.t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: columns}))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(c.t, err)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	screen := &transcript{}
	p := &process{t: c.t, cmd: cmd, out: screen, err: screen}
	p.begin()
	read, ended := make(chan struct{}), p.ended
	go func() {
		defer close(read)
		chunk := make([]byte, 4<<10)
		for err := error(nil); err == nil && !strings.HasSuffix(screen.String(), lastWord); {
			var n int
			n, err = master.Read(chunk)
			_, _ = screen.Write(chunk[:n])
		}
	}()
	p.ended = make(chan struct{})
	go func() {
		defer close(p.ended)
		<-ended
		_, _ = slave.WriteString(lastWord) // it fails where the terminal went with its session
		_ = slave.Close()
		<-read
		_ = master.Close()
	}()
	return &terminal{process: p, master: master}
}

// wait waits for the end, and returns all that came to the terminal as output.
func (x *terminal) wait() said {
	x.t.Helper()
	got := x.process.wait()
	got.out, got.err = strings.TrimSuffix(got.out, lastWord), ""
	return got
}

var (
	// colour is a code that sets one.
	colour = regexp.MustCompile(`\x1b\[([0-9;]*;)?(3[0-8]|4[0-8]|9[0-7]|10[0-7])[0-9;]*m`)
	// ours are the codes that the starter writes itself: looks, and taking back
	// lines that it has drawn.
	ours = regexp.MustCompile(`\x1b\[[0-9;]*m|\r\x1b\[[0-9]+A\x1b\[J`)
)

const xterm = "TERM=xterm-256color"

// TestCLITerminal has a run on a terminal: colours, live text that is there
// before the answer is, and taken back; the answer at the end.
func TestCLITerminal(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	model := c.script("live.yaml", "turns: [{delay: 2s, text: '"+strings.Repeat("word ", 40)+"END'}]")
	x := c.on(xterm).terminal("run", "--model", model, "hi")
	x.untilOut("word word")
	require.NotContains(t, x.out.String(), "END", "the answer's beginning is shown before its end is there")
	got := x.wait()
	require.Equal(t, 0, got.code)
	require.Regexp(t, colour, got.out)
	require.Regexp(t, `\r\x1b\[[0-9]+A\x1b\[J`, got.out, "live text is taken back")
	requireInOrder(t, got.out, "thinking", "completed · 1 step", "END")
	require.NotContains(t, ours.ReplaceAllString(got.out, ""), "\x1b")
}

// TestCLINoColor asks for no colours, for a terminal that can nothing, and for
// no terminal.
func TestCLINoColor(t *testing.T) {
	long(t)
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	model := c.script("calling.yaml", calling)
	id := "colour-" + s.queue
	for _, args := range [][]string{
		{"run", "--id", id, "--model", model, "--tool", "list_files", "hi"},
		{"status", id}, {"list"}, {"steps", id}, {"messages", id}, {"watch", id}, {"doctor"}, {"status", "nobody"},
	} {
		none := c.on(xterm, "NO_COLOR=1").terminal(args...).wait()
		require.NotRegexp(t, colour, none.out, "%v", args)
		dumb := c.on("TERM=dumb").terminal("watch", id).wait()
		require.NotContains(t, dumb.out, "\x1b", "%v", args)
		if args[0] != "run" {
			require.Regexp(t, `\x1b\[[0-9;]*m`, c.on(xterm).terminal(args...).wait().out, "%v", args)
		}
	}
}

// TestCLICtrlC presses Ctrl-C on a terminal, which every process of the group
// gets: the execution is left as it is, and goes on. The shell stays, so that
// the terminal does.
func TestCLICtrlC(t *testing.T) {
	t.Parallel()
	c, held := newCLI(t).holding()
	shell := exec.Command("/bin/sh", "-c", `trap : INT; "$@"; echo ended with $?; read line`, "sh",
		c.bin, "run", "--id", "c", "--model", heldModel, "--tool", "list_files", "go")
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	x := c.on(xterm).onTerminal(shell)
	x.untilOut("step 3")
	held()
	_, err := x.master.WriteString("\x03")
	require.NoError(t, err)
	x.untilOut("ended with 130")
	require.Contains(t, x.out.String(), "starter watch c")
	_, err = x.master.WriteString("\n")
	require.NoError(t, err)
	require.Equal(t, 0, x.wait().code)
	c.quiet()
	after := c.do("watch", "c")
	require.Equal(t, 0, after.code, after.err)
	require.Equal(t, slowAnswer, after.out)
	require.Contains(t, after.err, "completed · 3 steps")
}

// TestCLIHostileText has control characters from a model, from a tool and from
// the user on a terminal, in every command that shows text: none arrives raw.
func TestCLIHostileText(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	c := newCLI(t).at(s)
	folder := filepath.Join(c.dir, "folder")
	require.NoError(t, os.Mkdir(folder, 0o700))
	config := workerConfig()
	config.Dir = folder
	w := s.work(t, config)
	t.Cleanup(w.Stop)
	c.file("folder/a\x1b]0;pwned\a\u202eb\xff\xc2\x9b2J.txt", "\x1b]0;pwned\a\x1b[2J\u009b2J\u202e\u2066\xff\xfe\x00\x7f\b\r")
	model := c.script("hostile.yaml", `turns:
  - text: "one \e]0;pwned\a\e[2J \x9b2J \u202e\u2066 \x7f\b\r end"
    tool_calls:
      - {name: list_files, arguments: {path: .}}
      - {name: read_file, arguments: {path: "none\e]0;pwned\a\u202e.txt"}}
      - {name: search_files, arguments: {pattern: "[\e[2J"}}
      - {name: read_file, arguments: "{not JSON \e[2J \u202e"}
  - text: "two \e]0;pwned\a\e[2J \x9b2J \u202e {{ result \"list_files\" }} end"
    delay: 500ms
`)
	id := "hostile-" + s.queue
	prompt := "hi \x1b]0;pwned\a\x1b[2J\u009b2J\u202e"
	for _, look := range []string{xterm, "TERM=dumb", xterm + "\x00NO_COLOR=1"} {
		c := c.on(strings.Split(look, "\x00")...)
		commands := [][]string{
			{"watch", id}, {"watch", id, "--json"}, {"result", id}, {"result", id, "--json"}, {"status", id}, {"status", id, "--json"},
			{"steps", id}, {"steps", id, "--json"}, {"messages", id}, {"messages", id, "--json"}, {"list"},
			{"stop", "x\x1b[2J"}, {"\x1b[2J\u202e"}, {"status", id, "--\x1b[2J"}, {"run", "--model", "scripted/\x1b]0;x\a\u202e", "x"},
		}
		if look == xterm {
			begin := []string{"run", "--id", id, "--model", model, "--tool", "list_files,read_file,search_files", prompt}
			commands = append([][]string{begin}, commands...)
		}
		for _, args := range commands {
			got := c.terminal(args...).wait()
			require.NotEmpty(t, got.out, "%q", args)
			requireHarmless(t, got.out, args)
		}
	}
	require.Contains(t, c.ok("result", "--raw", id), "two \x1b]0;pwned", "as it is, where that is asked for")
	require.NotContains(t, c.ok("result", id), "\x1b", "a pipe may end at a terminal")
}

// requireHarmless requires that nothing on a terminal is but text and what the
// starter draws with.
func requireHarmless(t *testing.T, screen string, args []string) {
	t.Helper()
	require.True(t, utf8.ValidString(screen), "%q: %q", args, screen)
	rest := strings.ReplaceAll(ours.ReplaceAllString(screen, ""), "\r\n", "\n")
	for i, r := range rest {
		harmful := r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f ||
			r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
		require.False(t, harmful, "%q: %q near %q", args, r, rest[max(0, i-40):min(len(rest), i+20)])
	}
}
