//go:build linux

package shell

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// Scripts that start what is hard to end. Each writes the numbers of its processes to
// the file pids, and then waits.
const (
	// forest starts 200 processes; half of them leave their session, and all hold the output.
	forest = `for i in $(seq 1 100); do
	sh -c 'echo $$ >> pids; trap "" TERM HUP INT; sleep 1000 & wait' &
	setsid sh -c '(sh -c "echo \$\$ >> pids; exec sleep 1000" &) ; exit' &
done
until test $(wc -l < pids) -ge 200; do sleep 0.05; done
echo ready > ready; sleep 1000`
	// hopper is never the same process for longer than it takes to make another.
	hopper = `perl -MPOSIX -e 'open F, ">>pids"; $|=1; while (1) { $p = fork; exit if $p; POSIX::setsid(); }' &
sleep 1; echo $$ >> pids; echo ready > ready; sleep 1000`
	// daemon has left in every way that there is.
	daemon = `(setsid sh -c 'cd /; exec </dev/null >/dev/null 2>&1; (sh -c "echo \$\$ >> \"$0/pids\"; exec sleep 1000" "$0" &)' "$PWD" &)
until test -s pids; do sleep 0.05; done
echo ready > ready`
)

// TestNothingGoesOn: however a call ends, and whatever it has started.
func TestNothingGoesOn(t *testing.T) {
	t.Parallel()
	ready := func(dir string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil }
	}
	for name, test := range map[string]struct {
		script string
		least  int
	}{"a forest": {forest, 200}, "a hopper": {hopper, 1}, "a daemon": {daemon + "; sleep 1000", 1}} {
		t.Run(name+" at its time-out", func(t *testing.T) {
			t.Parallel()
			s, dir := open(t, Config{})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			// The time is over when all is there, on however slow a machine.
			over := errors.New("the test has seen enough")
			var ended sync.WaitGroup
			ended.Go(func() {
				_, err := call(ctx, s, fields{"script": test.script, "timeout_seconds": 600})
				require.ErrorIs(t, err, over)
			})
			require.Eventually(t, ready(dir), 2*time.Minute, 10*time.Millisecond)
			cancel(over)
			ended.Wait()
			gone(t, filepath.Join(dir, "pids"), test.least)
		})
		t.Run(name+" when the worker is killed", func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			self, err := os.Executable()
			require.NoError(t, err)
			worker := exec.Command(self, "work", dir, test.script)
			require.NoError(t, worker.Start())
			require.Eventually(t, ready(dir), 2*time.Minute, 10*time.Millisecond)
			mine := below(worker.Process.Pid)
			require.NotEmpty(t, mine)
			require.NoError(t, worker.Process.Kill())
			_ = worker.Wait()
			gone(t, filepath.Join(dir, "pids"), test.least)
			for _, p := range mine {
				require.Eventually(t, func() bool {
					now, there := look(p.pid)
					return !there || now.over || now.born != p.born
				}, time.Minute, time.Millisecond, "the keeper, too")
			}
		})
	}
	t.Run("a daemon when the command ends", func(t *testing.T) {
		t.Parallel()
		s, dir := open(t, Config{})
		how, _ := answer(t, s, daemon)
		require.Regexp(t, `^\[exit 0 after \S+; \d+ that it had left running ended with it\]$`, how)
		gone(t, filepath.Join(dir, "pids"), 1)
	})
	t.Run("what holds the output when the command ends", func(t *testing.T) {
		t.Parallel()
		s, _ := open(t, Config{})
		how, output := answer(t, s, "setsid sh -c 'sleep 1000; echo late' & echo early")
		require.Contains(t, how, "left running ended with it")
		require.Equal(t, "early", strings.TrimSpace(output))
	})
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	s, _ := open(t, Config{})
	_, err := call(t.Context(), s, fields{"script": "echo begun; trap '' TERM INT HUP; sleep 1000", "timeout_seconds": 1})
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
			text, err := call(t.Context(), s, fields{"script": "sleep 0.3 & sleep 0.5; echo done"})
			require.NoError(t, err)
			require.Contains(t, text, "exit 0")
			require.Contains(t, text, "done")
		})
	}
	all.Wait()
}

func TestConfinement(t *testing.T) {
	t.Parallel()
	if Landlock() == 0 {
		t.Skip("this kernel has no Landlock: what commands write is not confined")
	}
	outside := t.TempDir()
	key := filepath.Join(outside, "key")
	require.NoError(t, os.WriteFile(key, []byte("sesame"), 0o600))
	beside := filepath.Join(outside, "beside")
	require.NoError(t, os.WriteFile(beside, []byte("open"), 0o600))
	s, dir := open(t, Config{Hidden: []string{key}})
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "out")))
	require.NoError(t, os.Link(beside, filepath.Join(outside, "third")))
	for name, script := range map[string]string{
		"a file":              "echo x > OUT/made",
		"over a file":         "echo x > OUT/beside",
		"cut a file":          "truncate -s 0 OUT/beside",
		"through a link":      "echo x > out/made",
		"a folder":            "mkdir OUT/made",
		"a link":              "ln -s x OUT/made",
		"a hard link":         "ln beside-of-none OUT/made || ln OUT/beside inside && echo x > inside",
		"remove":              "rm -f OUT/beside; test ! -e OUT/beside",
		"rename in":           "mv OUT/beside .",
		"rename out":          "echo x > x && mv x OUT/made && test -s OUT/made",
		"a pipe":              "mkfifo OUT/made",
		"temp of all":         "echo x > /tmp/everstep-test-made",
		"home":                "echo x > ~root/everstep-test-made",
		"a device":            "echo x > /dev/everstep-test-made",
		"the kernel's":        "echo x > /proc/sys/kernel/hostname",
		"by proc":             "echo x > /proc/self/root/OUT/made",
		"the key":             "cat OUT/key",
		"the key by a link":   "cat out/key",
		"the key by proc":     "cat /proc/self/root/OUT/key",
		"the key's copy":      "cp OUT/key . && cat key",
		"the key linked":      "ln OUT/key mine && cat mine",
		"environ of a worker": "cat /proc/WORKER/environ",
		"memory of a worker":  "head -c 1 /proc/WORKER/mem",
		"files of a worker":   "readlink /proc/WORKER/fd/1",
		"environ of a keeper": "cat /proc/$PPID/environ",
	} {
		t.Run(name, func(t *testing.T) {
			script = strings.NewReplacer("OUT", outside, "WORKER", strconv.Itoa(os.Getpid())).Replace(script)
			how, output := answer(t, s, script)
			require.NotContains(t, how, "exit 0", output)
			require.NotContains(t, output, "sesame")
		})
	}
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	text, err := os.ReadFile(beside)
	require.NoError(t, err)
	require.Equal(t, "open", string(text))
	require.NoFileExists(t, "/tmp/everstep-test-made")

	how, output := answer(t, s, "cat "+beside+" && echo x > a && mkdir b && mv a b/a && cat b/a && echo y > /dev/null && echo z > $TMPDIR/z && rm -r b && ls /usr/bin > /dev/null && echo fine")
	require.Contains(t, how, "exit 0", output)
	require.Equal(t, "openx\nfine", strings.TrimSpace(output))

	if Landlock() < signals {
		t.Skip("this kernel has a Landlock that keeps no signals in")
	}
	for _, whom := range []string{"$PPID", strconv.Itoa(os.Getpid())} {
		how, output = answer(t, s, "kill -0 "+whom+" || kill -9 "+whom+"; for t in /proc/$PPID/task/*; do kill -9 ${t##*/}; done; sleep 1000 & kill -9 $! && echo own")
		require.Contains(t, how, "exit 0", output)
		require.Contains(t, output, "own")
	}
}
