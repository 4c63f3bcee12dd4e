package script_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

type userKey struct{}

// A user is whose terminal a script is: the variables that are set and the programs that run.
type user struct {
	names     []string // of variables
	processes map[string]*process
	input     string // of the next command
}

func userOf(ts *testscript.TestScript) *user { return ts.Value(userKey{}).(*user) }

// environment is that of the script's commands.
func (u *user) environment(ts *testscript.TestScript) []string {
	var variables []string
	for _, name := range u.names {
		variables = append(variables, name+"="+ts.Getenv(name))
	}
	return variables
}

func (u *user) named(ts *testscript.TestScript, name string) *process {
	p := u.processes[name]
	if p == nil {
		ts.Fatalf("no process %s was begun", name)
	}
	return p
}

func (u *user) killAll() {
	for _, p := range u.processes {
		_ = p.cmd.Process.Kill() // it has ended, mostly
		<-p.ended
	}
}

// A process is a program that runs beside the script.
type process struct {
	cmd      *exec.Cmd
	out, err *transcript
	ended    chan struct{}
	master   *os.File // of its terminal; nil: it has none
}

// begin starts a program without a terminal.
func (u *user) begin(ts *testscript.TestScript, name string, cmd *exec.Cmd) {
	p := &process{cmd: cmd, out: &transcript{}, err: &transcript{}}
	cmd.Stdout, cmd.Stderr = p.out, p.err
	u.start(ts, name, p)
}

// start starts a process, and sees to its end.
func (u *user) start(ts *testscript.TestScript, name string, p *process) {
	if old := u.processes[name]; old != nil && old.running() {
		ts.Fatalf("process %s still runs", name)
	}
	p.cmd.Dir, p.cmd.Env = ts.MkAbs("."), u.environment(ts)
	p.cmd.WaitDelay = 10 * time.Second
	ended := make(chan struct{})
	p.ended = ended
	ts.Check(p.cmd.Start())
	u.processes[name] = p
	go func() {
		defer close(ended)
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// lastWord is written to a terminal when its program has ended: the system may drop what was not yet read when the last
// user of a terminal goes.
const lastWord = "that was all"

// strokes are what a terminal is drawn with beside text. Blanks may be jumped over.
var strokes = regexp.MustCompile(`\x1b\[[0-9;?>=]*\$?[a-zA-Z]|\x1b[()][0-9A-B]|\x1b[=>78M]|\s`)

// waitFor waits until a process has written what matches; on a terminal, what is drawn without its blanks.
func (p *process) waitFor(ts *testscript.TestScript, pattern string) {
	if p.master != nil {
		pattern = strokes.ReplaceAllString(pattern, "")
	}
	want := regexp.MustCompile(`(?m)` + pattern)
	written := func() bool {
		if p.master != nil {
			return want.MatchString(strokes.ReplaceAllString(p.out.String(), ""))
		}
		return want.MatchString(p.out.String()) || want.MatchString(p.err.String())
	}
	eventually(5*time.Millisecond, func() bool { return written() || !p.running() })
	if !written() {
		ts.Fatalf("%v never wrote %q (running: %v):\n%q\n%s", p.cmd.Args, pattern, p.running(), p.out, p.err)
	}
}

// types types a text on the terminal of a process: where a pattern is given, each second anew until that is drawn, since
// what comes before a question is drawn, or right after it, answers nothing.
func (p *process) types(ts *testscript.TestScript, text string, until []string) {
	write := func() {
		_, err := p.master.WriteString(text)
		ts.Check(err)
	}
	if len(until) == 0 {
		write()
		return
	}
	want := regexp.MustCompile(strokes.ReplaceAllString(until[0], ""))
	if !eventually(time.Second, func() bool {
		if want.MatchString(strokes.ReplaceAllString(p.out.String(), "")) || !p.running() {
			return true
		}
		write()
		return false
	}) {
		ts.Fatalf("%v never drew %q:\n%s", p.cmd.Args, until[0], p.out)
	}
}

// end waits for the end, whose exit code has to be this one. What the process wrote is then stdout and stderr.
func (p *process) end(ts *testscript.TestScript, code string) {
	select {
	case <-p.ended:
	case <-time.After(patience):
		ts.Fatalf("%v does not end:\n%s\n%s", p.cmd.Args, p.out, p.err)
	}
	_, _ = ts.Stdout().Write([]byte(strings.TrimSuffix(p.out.String(), lastWord)))
	_, _ = ts.Stderr().Write([]byte(p.err.String()))
	got := "killed"
	if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Exited() {
		got = strings.TrimPrefix(p.cmd.ProcessState.String(), "exit status ")
	}
	if got != code {
		ts.Fatalf("%v: exit code %s, not %s", p.cmd.Args, got, code)
	}
}

// A transcript is what a process has written so far.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *transcript) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(text)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
