package record_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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
	keep(t, store, all[0])

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
	keep(t, store, all[1])

	require.NoError(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	require.ErrorContains(t, store.Record(t.Context(), all[2]), "read-only file system")
	_, err = store.Delete(t.Context(), all[0].AgentID)
	require.ErrorContains(t, err, "read-only file system")
	require.ErrorContains(t, store.Forget(t.Context(), all[0].Ref()), "read-only file system")
	stores.Reads(t, store, all[:2]...)
}

// TestWhatIsNoFolderIsNotListed: to open what else may stand there could wait for ever.
func TestWhatIsNoFolderIsNotListed(t *testing.T) {
	t.Parallel()
	store, dir := inDirectory(t)
	r := stores.Sample(t, "ann", 1)[0]
	pipe := filepath.Join(dir, r.AgentID.String())
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	t.Cleanup(func() { // whoever waits for a writer has one
		if end, err := os.OpenFile(pipe, os.O_RDWR, 0); err == nil {
			_ = end.Close()
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for what, do := range map[string]func() error{
		"list":     func() error { _, err := store.List(ctx, r.AgentID); return err },
		"position": func() error { _, err := store.Position(ctx, r.Ref()); return err },
		"delete":   func() error { _, err := store.Delete(ctx, r.AgentID); return err },
		"record":   func() error { return store.Record(ctx, r) },
	} {
		err := do()
		require.Error(t, err, what)
		require.NoError(t, ctx.Err(), "%s waits", what)
	}
	_, err := store.List(ctx, r.AgentID)
	require.ErrorContains(t, err, "it is no folder")
}
