package whole_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/worker/host"
)

// TestAFullDiskIsNamed by whoever follows and whoever asks, and all goes on when there is
// room again.
func TestAFullDiskIsNamed(t *testing.T) {
	long(t)
	t.Parallel()
	c := newCLI(t)
	disk := filepath.Dir(c.state)
	require.NoError(t, os.Mkdir(disk, 0o700))
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=16m,mode=700"); err != nil {
		t.Skip("no disk of its own can be had:", err)
	}
	t.Cleanup(func() {
		c.quiet()
		require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH))
	})
	run := c.start("run", "--id", "full", "--model", c.script("slow.yaml", slow("300s")), "--tool", "list_files", "go").untilErr("step 3\n")
	fill := filepath.Join(disk, "fill")
	require.ErrorIs(t, os.WriteFile(fill, make([]byte, 32<<20), 0o600), syscall.ENOSPC)
	says := "the dev server cannot write its state in " + disk + ": no space left on device"
	run.untilErr(says)
	asked := c.do("status", "full")
	require.Contains(t, asked.err, says)

	require.NoError(t, os.Remove(fill))
	require.Eventually(t, func() bool { return c.do("stop", "--mode", "now", "full").code == 0 }, patience, 100*time.Millisecond)
	require.Equal(t, 3, run.wait().code)
}

// TestCLIFullDisk cannot write its answer: it says so and ends 1, since a
// script that reads the file must know.
func TestCLIFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here: a disk that is full was not tried")
	}
	t.Cleanup(func() { _ = full.Close() })
	s := start(t, host.Config{})
	c := newCLI(t).at(s)
	id, model := "full-"+s.queue, c.script("hello.yaml", hello)
	for _, args := range [][]string{
		{"run", "--quiet", "--id", id, "--model", model, "hi"}, {"result", id}, {"status", id, "--json"}, {"list"}, {"watch", id, "--json"}, {"--help"},
	} {
		p := c.prepare(args...)
		p.cmd.Stdout = full
		p.begin()
		got := p.wait()
		require.Equal(t, 1, got.code, "%v: %s", args, got.err)
		require.Contains(t, got.err, "no space left", "%v", args)
	}
}
