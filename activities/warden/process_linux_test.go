package warden

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// asWorker has this test's program start a tree of processes and wait to be killed.
const asWorker = "everstep-test-worker"

func TestMain(m *testing.M) {
	Serve()
	if os.Args[0] == asWorker {
		worker := exec.Command("/bin/sh", "-c", tree)
		worker.Env, worker.Stdout, worker.Stderr = []string{"PATH=" + os.Getenv("PATH")}, os.Stdout, os.Stderr
		p, err := Start(worker)
		if err == nil {
			<-p.Done()
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// tree starts processes that ignore what asks them to end, one in its group and one in
// a session of its own whose parent has gone, tells their numbers, and stays.
const tree = `trap "" TERM HUP INT
sleep 1000 & echo $!
(setsid sh -c 'trap "" TERM HUP INT; echo $$; exec sleep 1000' &)
echo $$
exec sleep 1000`

func numbers(t *testing.T, from io.Reader) (pids []int) {
	t.Helper()
	lines := bufio.NewScanner(from)
	for len(pids) < 3 && lines.Scan() {
		pid, err := strconv.Atoi(lines.Text())
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	require.Len(t, pids, 3)
	return pids
}

func requireGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		require.Eventually(t, func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(stat), ") Z ")
		}, 2*time.Minute, 5*time.Millisecond, "process %d is still there", pid)
	}
}

func TestNothingOutlivesAWorkerThatIsKilled(t *testing.T) {
	t.Parallel()
	worker := exec.Command("/proc/self/exe")
	worker.Args = []string{asWorker}
	out, err := worker.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, worker.Start())
	pids := numbers(t, out)
	require.NoError(t, worker.Process.Kill())
	_ = worker.Wait()
	requireGone(t, pids)
}

func start(t *testing.T, script string, env ...string) (*Process, *os.File) {
	t.Helper()
	out, theirs, err := os.Pipe()
	require.NoError(t, err)
	shell := exec.Command("/bin/sh", "-c", script)
	shell.Env, shell.Stdout = env, theirs
	p, err := Start(shell)
	require.NoError(t, theirs.Close())
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p, out
}

func TestWhatIgnoresTheEndIsKilledWithAllThatItStarted(t *testing.T) {
	t.Parallel()
	p, out := start(t, tree, "PATH="+os.Getenv("PATH"))
	pids := numbers(t, out)
	p.Stop(10 * time.Millisecond)
	requireGone(t, pids)
}

// TestWhoFleesIsCaught: one that is never the same process for longer than it takes to
// make another is run after until it is ended, though that may take longer than one waits.
func TestWhoFleesIsCaught(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("SKIPPED: there is no perl here: that what flees is ended is not checked")
	}
	const fleeing = `perl -MPOSIX -e '$end = time + 600; while (time < $end) { $p = fork; exit if $p; POSIX::setsid(); syswrite STDOUT, "up\n" if ++$n == 500; }' & sleep 1000`
	mark := t.TempDir() // and of no other run's
	p, out := start(t, fleeing, "PATH="+os.Getenv("PATH"), "FLEES="+mark)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "up\n", line)
	p.Kill()
	select {
	case <-p.Done():
	case <-time.After(5 * time.Minute): // half of the time for which it flees
		require.Fail(t, "it is not caught")
	}
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, file := range environs {
		environ, _ := os.ReadFile(file) // it may have ended
		require.NotContains(t, string(environ), "FLEES="+mark+"\x00", file)
	}
}

func TestWhatAProgramLeavesBehindEndsWithIt(t *testing.T) {
	t.Parallel()
	enough := filepath.Join(t.TempDir(), "enough")
	p, out := start(t, strings.TrimSuffix(tree, "exec sleep 1000")+"until [ -e "+enough+" ]; do sleep 0.01; done; exit 3", "PATH="+os.Getenv("PATH"))
	pids := numbers(t, out)
	require.NoError(t, os.WriteFile(enough, nil, 0o600))
	<-p.Done()
	require.Equal(t, "exit status 3", p.State())
	requireGone(t, pids)
}

func TestAProgramThatHeedsTheSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	p, out := start(t, `trap "exit 7" TERM; echo up; while :; do sleep 0.01; done`, "PATH="+os.Getenv("PATH"))
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "up\n", line)
	p.Stop(time.Minute)
	require.Equal(t, "exit status 7", p.State())
}

func TestAProgramHasTheEnvironmentThatItIsGiven(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{"none": nil, "one": {"A=b c"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, out := start(t, "/usr/bin/env", env...)
			said, err := io.ReadAll(out)
			require.NoError(t, err)
			var got []string
			for line := range strings.Lines(string(said)) {
				name, _, _ := strings.Cut(line, "=")
				if name != "PWD" && name != "SHLVL" && name != "_" { // the shell's own
					got = append(got, strings.TrimSpace(line))
				}
			}
			require.Equal(t, env, got)
		})
	}
}

// TestAProgramInheritsNoFile but those that it is given; 63 would be one of the worker's.
func TestAProgramInheritsNoFile(t *testing.T) {
	t.Parallel()
	open, err := syscall.Open(os.DevNull, syscall.O_RDONLY, 0) // stays open in what is started
	require.NoError(t, err)
	require.NoError(t, syscall.Dup3(open, 63, 0))
	_, out := start(t, "test -e /proc/self/fd/63 || echo none", "PATH="+os.Getenv("PATH"))
	said, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Equal(t, "none\n", string(said))
	require.NoError(t, syscall.Close(63))
	require.NoError(t, syscall.Close(open))
}

func TestAWardenThatIsKilledTakesItsProgramAlong(t *testing.T) {
	t.Parallel()
	p, out := start(t, `echo $$; exec sleep 1000`, "PATH="+os.Getenv("PATH"))
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NotEqual(t, p.PID(), pid, "there is a warden")
	require.NoError(t, syscall.Kill(p.PID(), syscall.SIGKILL))
	requireGone(t, []int{pid})
}

func TestAProgramThatIsNotThere(t *testing.T) {
	t.Parallel()
	p, err := Start(exec.Command("/no/such/program"))
	require.NoError(t, err, "the warden is")
	<-p.Done()
	require.Equal(t, "exit status 127", p.State())
}
