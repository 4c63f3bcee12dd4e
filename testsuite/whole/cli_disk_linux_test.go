package whole_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
