//go:build linux

package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"everstep/activities/warden"
	"everstep/domain"
)

// Scripts that start what is hard to end, and then wait. None can go on for ever.
const (
	// forest starts 200 processes; half of them leave their session, and all hold the output.
	forest = `for i in $(seq 1 100); do
	sh -c 'echo $$ >> pids; trap "" TERM HUP INT; sleep 1000 & wait' &
	setsid sh -c '(sh -c "echo \$\$ >> pids; exec sleep 1000" &) ; exit' &
done
until test $(wc -l < pids) -ge 200; do sleep 0.05; done
echo ready > ready; sleep 1000`
	// hopper is never the same process for longer than it takes to make another.
	hopper = `perl -MPOSIX -e '$end = time + 120; while (time < $end) { $p = fork; exit if $p; POSIX::setsid(); }' &
sleep 1; echo ready > ready; sleep 1000`
	// hoppers are as many as one who runs after them does not catch.
	hoppers = `for i in $(seq 24); do perl -MPOSIX -e '$end = time + 40; while (time < $end) { $p = fork; exit if $p; POSIX::setsid(); }' & done
sleep 1; echo ready > ready; sleep 1000`
	// daemon has left in every way that there is.
	daemon = `(setsid sh -c 'cd /; exec </dev/null >/dev/null 2>&1; (sh -c "echo \$\$ >> \"$0/pids\"; exec sleep 1000" "$0" &)' "$PWD" &)
until test -s pids; do sleep 0.05; done
echo ready > ready`
	// blinding has the keeper open nothing any more.
	blinding = daemon + `; prlimit --pid $PPID --nofile=0:0; sleep 1000`
)

// everyNamespace is each that this machine has, and none.
func everyNamespace(t *testing.T) []namespace {
	t.Helper()
	s, _ := open(t, Config{})
	return slices.Compact([]namespace{s.namespace, none})
}

func isReady(dir string) func() bool {
	return func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil }
}

// TestNothingGoesOn: however a call ends, and whatever it has started. What only a
// namespace ends is tried in one alone.
func TestNothingGoesOn(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	headless := "./self headless & sleep 1; echo ready > ready; sleep 1000"
	for _, in := range everyNamespace(t) {
		scripts := map[string]string{"a forest": forest, "a hopper": hopper, "a daemon": daemon + "; sleep 1000", "one without its first thread": headless}
		if in != none {
			scripts["hoppers"], scripts["a blind keeper"] = hoppers, blinding
		}
		for name, script := range scripts {
			t.Run(string(in)+" "+name+" at its time-out", func(t *testing.T) {
				t.Parallel()
				s, dir := open(t, Config{})
				copyInto(t, dir)
				s.namespace = in
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				// The time is over when all is there, on however slow a machine.
				over := errors.New("the test has seen enough")
				var ended sync.WaitGroup
				ended.Go(func() {
					_, err := call(ctx, s, fields{"script": mark(dir, script), "timeout_seconds": 600})
					require.ErrorIs(t, err, over)
				})
				require.Eventually(t, isReady(dir), patience, 10*time.Millisecond)
				begun(t, dir)
				cancel(over)
				ended.Wait()
				if in != none {
					require.Empty(t, marked(dir), "the call has ended")
				}
				gone(t, dir)
			})
			t.Run(string(in)+" "+name+" when the worker is killed", func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				copyInto(t, dir)
				worker := exec.Command(self, "work", string(in), dir, mark(dir, script))
				require.NoError(t, worker.Start())
				require.Eventually(t, isReady(dir), patience, 10*time.Millisecond)
				mine := warden.Descendants(worker.Process.Pid)
				require.NotEmpty(t, mine)
				begun(t, dir)
				require.NoError(t, worker.Process.Kill())
				_ = worker.Wait()
				gone(t, dir)
				for _, d := range mine {
					require.Eventually(t, func() bool { // none has an environment that waits to be buried
						environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", d.PID))
						return len(environ) == 0
					}, patience, 10*time.Millisecond, "the keeper, too")
				}
			})
		}
		t.Run(string(in)+" a daemon when the command ends", func(t *testing.T) {
			t.Parallel()
			s, dir := open(t, Config{})
			s.namespace = in
			how, _ := answer(t, s, mark(dir, daemon))
			require.Regexp(t, `^\[exit 0 after \S+; \d+ that it had left running ended with it\]$`, how)
			require.Empty(t, marked(dir))
		})
		t.Run(string(in)+" what holds the output when the command ends", func(t *testing.T) {
			t.Parallel()
			s, _ := open(t, Config{})
			s.namespace = in
			how, output := answer(t, s, "setsid sh -c 'sleep 1000; echo late' & echo early")
			require.Contains(t, how, "left running ended with it")
			require.Equal(t, "early", strings.TrimSpace(output))
		})
	}
}

// TestAFolderWithinTheTemporaryOne is mounted in the call's own, which goes with a worker that is killed, and stays itself.
func TestAFolderWithinTheTemporaryOne(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "everstep-test-")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	name := filepath.Base(dir)
	worker := exec.Command("/proc/self/exe", "work", "any", dir, mark(dir, `echo x > "$TMPDIR/`+name+`.made"; echo ready > ready; sleep 1000`))
	worker.Env = append(os.Environ(), "TMPDIR=/tmp")
	require.NoError(t, worker.Start())
	require.Eventually(t, isReady(dir), patience, 10*time.Millisecond)
	temps := func() []string {
		found, err := filepath.Glob("/tmp/everstep-shell-*/" + name + "*")
		require.NoError(t, err)
		return found
	}
	require.NotEmpty(t, temps())
	folder := filepath.Dir(temps()[0])
	require.NoError(t, worker.Process.Kill())
	_ = worker.Wait()
	gone(t, dir)
	require.Eventually(t, func() bool { _, err := os.Stat(folder); return os.IsNotExist(err) }, patience, 10*time.Millisecond)
	require.FileExists(t, filepath.Join(dir, "ready"))
}

// TestAHiddenFolderWithinAnother has no bearing on whether commands run: storage lies in the folder of the state.
func TestAHiddenFolderWithinAnother(t *testing.T) {
	t.Parallel()
	state := seenFolder(t)
	storage := filepath.Join(state, "dev.storage")
	require.NoError(t, os.Mkdir(storage, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(storage, "segment"), []byte("secret"), 0o600))
	for _, in := range everyNamespace(t) {
		s, _ := open(t, Config{Hidden: []string{storage, state}})
		s.namespace = in
		how, output := answer(t, s, "cat "+storage+"/segment; echo ran")
		require.Contains(t, how, "exit 0", output)
		require.Contains(t, output, "ran")
		require.NotContains(t, output, "secret")
	}
}

// TestNoProcessOutsideIsNamed: neither by a signal nor by a limit, nor is one seen.
func TestNoProcessOutsideIsNamed(t *testing.T) {
	t.Parallel()
	victim := exec.Command("sleep", "1000")
	require.NoError(t, victim.Start())
	defer func() { _, _ = victim.Process.Kill(), victim.Wait() }()
	s, _ := open(t, Config{})
	if s.namespace == none {
		t.Skip("SKIPPED: this system gives its user no namespace: that commands reach no process outside is not checked: " + s.hold.Why)
	}
	pid := strconv.Itoa(victim.Process.Pid)
	_, output := answer(t, s, "prlimit --pid "+pid+" --nofile=77:77 || kill -0 "+pid+" || ls /proc/"+pid+" || echo none; echo /proc/[0-9]*; pwd")
	require.Regexp(t, `none\n/proc/1 /proc/[0-9]+\n`, output, "the keeper and the command")
	var limit unix.Rlimit
	require.NoError(t, unix.Prlimit(victim.Process.Pid, unix.RLIMIT_NOFILE, nil, &limit))
	require.NotEqual(t, uint64(77), limit.Cur)
	require.Contains(t, output, s.config.Dir, "a folder has a path still")
}

// TestNoFileOfTheWorkerIsInherited but those of the command.
func TestNoFileOfTheWorkerIsInherited(t *testing.T) {
	t.Parallel()
	open, err := unix.Open(os.DevNull, unix.O_RDONLY, 0) // stays open in what is started
	require.NoError(t, err)
	high, err := unix.FcntlInt(uintptr(open), unix.F_DUPFD, 50)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	for _, in := range everyNamespace(t) {
		text, err := exec.Command(self, "work", string(in), t.TempDir(), "ls /proc/$$/fd").CombinedOutput()
		require.NoError(t, err)
		require.Regexp(t, `exit 0 after \S+\]\n0\n1\n2( |\n3 )`, string(text), "the shell itself may have another")
	}
	require.NoError(t, unix.Close(open))
	require.NoError(t, unix.Close(high))
}

// TestWorkerOfAnotherUser: who is not root has a namespace where the system lets it, with
// no rights there, and its files are its own.
func TestWorkerOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: it needs root to be another user: how commands of a worker that is not root run is not checked")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("/tmp", "everstep-test-") // one that others reach, which TMPDIR may not be
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chown(dir, nobody, nobody))
	worker := exec.Command("/proc/self/exe", "work", "any", dir, "id -u; echo x > made; stat -c %u made; grep -E 'Cap(Prm|Eff|Inh|Amb)' /proc/self/status; echo $$; pwd; echo x > $TMPDIR/x && echo temp")
	worker.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	worker.Env = append(os.Environ(), "TMPDIR=/tmp")
	text, err := worker.CombinedOutput()
	require.NoError(t, err, "%s", text)
	require.Contains(t, string(text), "exit 0 after", "%s", text)
	require.Contains(t, string(text), "\n65534\n65534\n")
	require.Equal(t, 4, strings.Count(string(text), "0000000000000000"), "%s", text)
	require.Contains(t, string(text), dir+"\ntemp")
	var info unix.Stat_t
	require.NoError(t, unix.Stat(filepath.Join(dir, "made"), &info))
	require.EqualValues(t, nobody, info.Uid)
	t.Logf("%s", text)
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	s, _ := open(t, Config{})
	_, err := call(t.Context(), s, `{"script":"echo begun; trap '' TERM INT HUP; sleep 1000","timeout_seconds":1}`)
	require.Equal(t, domain.CodeTimeout, domain.AsError(err).Code, "%v", err)
	require.Equal(t, "[ended with all that it had started: it took longer than 1s]\nbegun\n", err.Error())
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	require.InDelta(t, time.Hour-domain.ReportTime-10*time.Second, within(ctx, 2*time.Hour), float64(time.Minute))
	require.Equal(t, time.Minute, within(ctx, time.Minute))
}

// TestCommandsSideBySide: each has its keeper, and ends none but its own.
func TestCommandsSideBySide(t *testing.T) {
	t.Parallel()
	s, _ := open(t, Config{})
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			text, err := call(t.Context(), s, `{"script":"sleep 0.3 & sleep 0.5; echo done"}`)
			require.NoError(t, err)
			require.Contains(t, text, "exit 0")
			require.Contains(t, text, "done")
		})
	}
	all.Wait()
}

// TestAHiddenFile is read in no way, and what lies beside it is.
func TestAHiddenFile(t *testing.T) {
	t.Parallel()
	if Landlock() == 0 {
		t.Skip("SKIPPED: this kernel has no Landlock: that commands read no hidden file is not checked")
	}
	outside := seenFolder(t)
	key, beside := filepath.Join(outside, "key"), filepath.Join(outside, "beside")
	require.NoError(t, os.WriteFile(key, []byte("sesame"), 0o600))
	require.NoError(t, os.WriteFile(beside, []byte("open"), 0o600))
	s, dir := open(t, Config{Dir: seenFolder(t), Hidden: []string{key}})
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "out")))
	for _, script := range []string{"cat " + key, "cat out/key", "cat /proc/self/root" + key, "cp " + key + " . && cat key", "ln " + key + " mine && cat mine"} {
		how, output := answer(t, s, script)
		require.NotContains(t, how, "exit 0", script)
		require.NotContains(t, output, "sesame", script)
	}
	how, output := answer(t, s, "cat "+beside+" && echo x > a && mkdir b && mv a b/a && cat b/a && echo y > /dev/null && echo z > $TMPDIR/z && rm -r b && ls /usr/bin > /dev/null && echo fine")
	require.Contains(t, how, "exit 0", output)
	require.Equal(t, "openx\nfine", strings.TrimSpace(output))

	if Landlock() < signals {
		t.Skip("SKIPPED: the Landlock of this kernel keeps no signals in: that commands signal to none outside is not checked")
	}
	for _, whom := range []string{"$PPID", strconv.Itoa(os.Getpid())} {
		how, output = answer(t, s, "kill -0 "+whom+" || kill -9 "+whom+"; for t in /proc/$PPID/task/*; do kill -9 ${t##*/}; done; sleep 1000 & kill -9 $! && echo own")
		require.Contains(t, how, "exit 0", output)
		require.Contains(t, output, "own")
	}
}

// TestAKeyOfTwoNamesIsRefused: by the other name it could be read.
func TestAKeyOfTwoNamesIsRefused(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte("sesame"), 0o600))
	require.NoError(t, os.Link(key, key+"2"))
	_, err := Open(Config{Dir: t.TempDir(), Hidden: []string{key}})
	require.ErrorContains(t, err, "hard link")
}
