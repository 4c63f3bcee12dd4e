package record_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/testsuite/stores"
)

// TestADiskOfItsOwn holds a directory on a real disk, which is full, or read-only, to what stores withstand.
func TestADiskOfItsOwn(t *testing.T) {
	t.Parallel()
	disk, store := t.TempDir(), (*record.Store)(nil)
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("no disk of its own can be had:", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	store, err := record.OpenDirectory(filepath.Join(disk, "records"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	all := stores.Sample(t, "ann", 3)
	require.NoError(t, store.Record(t.Context(), all[0]))

	fill := filepath.Join(disk, "fill")
	require.ErrorIs(t, os.WriteFile(fill, make([]byte, 2<<20), 0o600), syscall.ENOSPC)
	for _, r := range all {
		err := store.Record(t.Context(), r)
		require.ErrorContains(t, err, "no space left on device")
		require.ErrorContains(t, err, disk)
	}
	stores.Reads(t, store, all[0])
	require.ErrorContains(t, store.Probe(t.Context()), "no space left on device")
	require.NoError(t, os.Remove(fill))
	require.NoError(t, store.Record(t.Context(), all[1]))

	require.NoError(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	require.ErrorContains(t, store.Record(t.Context(), all[2]), "read-only file system")
	_, err = store.Delete(t.Context(), all[0].AgentID)
	require.ErrorContains(t, err, "read-only file system")
	require.ErrorContains(t, store.Forget(t.Context(), all[0].Ref()), "read-only file system")
	stores.Reads(t, store, all[:2]...)
}
