package whole_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/starter/devserver"
	"everstep/worker/host/statefile"
)

// binVariable names a folder with the program starter, to be tested in place of what is built here.
const binVariable = "EVERSTEP_BIN"

// cliBinary is the starter of this test run, built once, and the dev server
// that all its calls use.
var cliBinary struct {
	once            sync.Once
	path, server    string
	buildErr, noSrv error
}

// builtCLI builds the starter, without its revision, so that a changed copy is another build. It lies beside the shared server's state, and
// goes with it.
func builtCLI(t testing.TB) (path, server string) {
	t.Helper()
	servers.server(t, "plain", nil)
	b := &cliBinary
	b.once.Do(func() {
		if built := os.Getenv(binVariable); built != "" {
			b.path = filepath.Join(built, "starter")
		} else {
			b.path = filepath.Join(servers.dir, "starter")
			if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", b.path, "everstep/starter").CombinedOutput(); err != nil {
				b.buildErr = fmt.Errorf("go build: %w: %s", err, out)
			}
		}
		var found devserver.Binary
		found, b.noSrv = devserver.Find(context.Background(), devserver.Config{Binary: os.Getenv("EVERSTEP_TEMPORAL")})
		b.server = found.Path
	})
	require.NoError(t, b.buildErr)
	require.NoError(t, b.noSrv)
	return b.path, b.server
}

// A cli is a user's starter, with a home, a state file and a folder of its own.
type cli struct {
	t   testing.TB
	bin string
	// dir is the current directory, in which nothing but the test's files is.
	dir   string
	state string
	env   []string
}

// newCLI makes a user. What it starts is ended with the test.
func newCLI(t testing.TB) *cli {
	t.Helper()
	bin, server := builtCLI(t)
	root, err := os.MkdirTemp("", "cli-")
	require.NoError(t, err)
	c := &cli{t: t, bin: bin, dir: filepath.Join(root, "w"), state: filepath.Join(root, "s", "dev.db")}
	require.NoError(t, os.Mkdir(c.dir, 0o700))
	c.env = []string{
		"HOME=" + filepath.Join(root, "home"), "PATH=/nowhere", "TMPDIR=" + root,
		"EVERSTEP_STATE=" + c.state, "EVERSTEP_TEMPORAL=" + server, "EVERSTEP_APPROVALS=allow",
	}
	t.Cleanup(func() {
		c.quiet()
		require.Eventually(t, func() bool { return os.RemoveAll(root) == nil }, patience, 50*time.Millisecond)
	})
	return c
}

// on is the same user with further variables, which count before the others.
func (c *cli) on(variables ...string) *cli {
	other := *c
	other.env = append(append([]string{}, c.env...), variables...)
	return &other
}

// at is the same user with a stack's server and queue configured.
func (c *cli) at(s *stack) *cli {
	return c.on("TEMPORAL_ADDRESS="+s.address, "EVERSTEP_TASK_QUEUE="+s.queue)
}

// quiet waits until the dev server of the state file is gone.
func (c *cli) quiet() {
	c.t.Helper()
	server, up := c.server()
	if !up {
		return
	}
	require.Eventually(c.t, func() bool { return syscall.Kill(server.PID, 0) != nil }, patience, 10*time.Millisecond,
		"the dev server outlived the test's processes")
}

// server is the dev server of the state file, where it is up. Asking keeps it
// up for a moment.
func (c *cli) server() (devserver.Server, bool) {
	c.t.Helper()
	server, up, err := statefile.Running(context.Background(), c.state)
	require.NoError(c.t, err)
	return server, up
}

// file writes a file of the user's and returns its name.
func (c *cli) file(name, text string) string {
	c.t.Helper()
	require.NoError(c.t, os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600))
	return name
}

// script writes a script and returns the model that plays it, by its full path.
func (c *cli) script(name, text string) string {
	return "scripted/" + filepath.Join(c.dir, c.file(name, text))
}

// A said is what a command that has ended wrote, and how it ended.
type said struct {
	code     int
	out, err string
	took     time.Duration
}

// do runs a command to its end.
func (c *cli) do(args ...string) said {
	c.t.Helper()
	return c.start(args...).wait()
}

// ok runs a command that must do well and returns its standard output.
func (c *cli) ok(args ...string) string {
	c.t.Helper()
	got := c.do(args...)
	require.Equal(c.t, 0, got.code, "%v: %s%s", args, got.out, got.err)
	return got.out
}

// json runs a command that must do well and answers one JSON value.
func (c *cli) json(args ...string) map[string]any {
	c.t.Helper()
	return object(c.t, c.ok(append(args, "--json")...))
}

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	var value map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &value), "%q", text)
	return value
}

// dev starts server and worker, and returns when they are up.
func (c *cli) dev() *process {
	c.t.Helper()
	p := c.start("dev", "--json")
	p.untilOut(`"address"`)
	return p
}

// A process is a command that runs.
type process struct {
	t        testing.TB
	cmd      *exec.Cmd
	out, err *transcript
	began    time.Time
	ended    chan struct{}
}

// start starts a command with neither terminal nor input.
func (c *cli) start(args ...string) *process {
	c.t.Helper()
	p := c.prepare(args...)
	p.begin()
	return p
}

// prepare is start without the start.
func (c *cli) prepare(args ...string) *process {
	cmd := exec.Command(c.bin, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	p := &process{t: c.t, cmd: cmd, out: &transcript{}, err: &transcript{}}
	cmd.Stdout, cmd.Stderr = p.out, p.err
	return p
}

// begin starts the process, and sees to its end.
func (p *process) begin() {
	p.t.Helper()
	ended := make(chan struct{})
	p.began, p.ended = time.Now(), ended
	p.cmd.WaitDelay = 10 * time.Second
	require.NoError(p.t, p.cmd.Start())
	go func() {
		defer close(ended)
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
	p.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has ended, mostly
		<-ended
	})
}

// wait waits for the end.
func (p *process) wait() said {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		require.FailNow(p.t, "does not end", "%v\n%s\n%s", p.cmd.Args, p.out, p.err)
	}
	return said{code: p.cmd.ProcessState.ExitCode(), out: p.out.String(), err: p.err.String(), took: time.Since(p.began)}
}

// running reports whether it has not ended.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// interrupt is Ctrl-C.
func (p *process) interrupt() *process {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(os.Interrupt))
	return p
}

// untilOut waits for a text on standard output.
func (p *process) untilOut(text string) *process { p.t.Helper(); return p.until(p.out, text) }

// untilErr waits for a text on standard error.
func (p *process) untilErr(text string) *process { p.t.Helper(); return p.until(p.err, text) }

func (p *process) until(where *transcript, text string) *process {
	p.t.Helper()
	seen := func() bool { return strings.Contains(where.String(), text) }
	require.Eventually(p.t, func() bool { return seen() || !p.running() }, patience, 5*time.Millisecond,
		"%v never said %q; it said:\n%s", p.cmd.Args, text, where)
	require.True(p.t, seen(), "%v ended (%v) without saying %q:\n%s\n%s", p.cmd.Args, p.cmd.ProcessState, text, p.out, p.err)
	return p
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
