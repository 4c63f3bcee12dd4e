package devserver

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/worker/host/statefile"
)

// TestAFullDiskIsNamed: whoever starts a dev server there reads so, not that a process failed.
func TestAFullDiskIsNamed(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=2m,mode=700"); err != nil {
		t.Skip("no disk of its own can be had:", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	cfg := Config{StateFile: filepath.Join(disk, "dev.db"), Binary: script(t, "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)", "exit 3")}
	require.NoError(t, statefile.Room(cfg.StateFile))
	err := os.WriteFile(filepath.Join(disk, "fill"), make([]byte, 4<<20), 0o600)
	require.ErrorIs(t, err, syscall.ENOSPC)

	_, err = Acquire(t.Context(), cfg)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.EqualError(t, err, "the dev server cannot write its state in "+disk+": no space left on device")
	require.True(t, errors.Is(statefile.Room(cfg.StateFile), syscall.ENOSPC))
}
