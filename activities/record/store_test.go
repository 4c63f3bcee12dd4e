package record_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/testsuite/stores"
)

func inDirectory(t *testing.T) (*record.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "records")
	store, err := record.OpenDirectory(dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store, dir
}

func inBucket(t *testing.T, b *blob.Bucket) *record.Store {
	t.Helper()
	store := record.InBucket(b, "mem://")
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// keep puts records into a store.
func keep(t *testing.T, store *record.Store, all ...record.Record) {
	t.Helper()
	for _, r := range all {
		require.NoError(t, store.Record(t.Context(), r))
	}
}

// both are stores in a directory and in a bucket.
func both(t *testing.T) (stores map[string]*record.Store, dir string) {
	t.Helper()
	inDir, dir := inDirectory(t)
	return map[string]*record.Store{"directory": inDir, "bucket": inBucket(t, memblob.OpenBucket(nil))}, dir
}

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		stores.Keeps(t, func(t *testing.T) stores.Keeper { store, _ := inDirectory(t); return store })
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		stores.Keeps(t, func(t *testing.T) stores.Keeper { return inBucket(t, memblob.OpenBucket(nil)) })
	})
	t.Run("bucket of files", func(t *testing.T) {
		t.Parallel()
		stores.Keeps(t, func(t *testing.T) stores.Keeper {
			b, err := fileblob.OpenBucket(t.TempDir(), &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
			require.NoError(t, err)
			return inBucket(t, b)
		})
	})
}

// TestFaults: what a store keeps its objects in can be torn, lost, slow, full and read-only.
func TestFaults(t *testing.T) {
	t.Parallel()
	breaking := func(store *record.Store, disk bool) stores.Faulty {
		b := record.Breaking(store, disk)
		return stores.Faulty{Keeper: store, Meet: func(f stores.Fault) { b.Meet(string(f)) }}
	}
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		stores.Withstands(t, func(t *testing.T) stores.Faulty { store, _ := inDirectory(t); return breaking(store, true) })
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		stores.Withstands(t, func(t *testing.T) stores.Faulty { return breaking(inBucket(t, memblob.OpenBucket(nil)), false) })
	})
}

// recorded is a store in a directory with one record, and the file that holds it.
func recorded(t *testing.T) (*record.Store, record.Record, string) {
	t.Helper()
	store, dir := inDirectory(t)
	r := stores.Sample(t, "ann", 1)[0]
	keep(t, store, r)
	files, err := filepath.Glob(filepath.Join(dir, r.AgentID.String(), "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	return store, r, files[0]
}

// TestATornRecordIsNoRecord: cut off at any byte, or with any byte changed, it is said to be damaged.
func TestATornRecordIsNoRecord(t *testing.T) {
	t.Parallel()
	store, r, file := recorded(t)
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	for n := range len(whole) {
		require.NoError(t, os.WriteFile(file, whole[:n], 0o600))
		_, err := store.Get(t.Context(), r.Ref())
		require.ErrorContains(t, err, "cannot be read", "%d of %d bytes", n, len(whole))
		require.NotErrorIs(t, err, record.ErrNone)
		changed := bytes.Clone(whole)
		changed[n] ^= 0x40
		require.NoError(t, os.WriteFile(file, changed, 0o600))
		if got, err := store.Get(t.Context(), r.Ref()); err == nil {
			require.Equal(t, r.Ended, got.Ended, "byte %d says nothing", n)
			require.Len(t, got.Messages, len(r.Messages))
		}
	}
	bucket := memblob.OpenBucket(nil)
	torn := inBucket(t, bucket)
	keep(t, torn, r)
	key := "records/" + r.AgentID.String() + "/" + filepath.Base(file)
	require.NoError(t, bucket.WriteAll(t.Context(), key, whole[:len(whole)-5], nil))
	_, err = torn.Get(t.Context(), r.Ref())
	require.ErrorContains(t, err, "cannot be read")
}

// TestWhatIsBeingWrittenIsNoRecord: a process that died in the middle leaves a file that nobody reads, which goes in time.
func TestWhatIsBeingWrittenIsNoRecord(t *testing.T) {
	t.Parallel()
	store, r, file := recorded(t)
	half := filepath.Join(filepath.Dir(file), ".writing-half")
	require.NoError(t, os.WriteFile(half, []byte("half"), 0o600))
	stores.Reads(t, store, r)
	require.NoError(t, os.Chtimes(half, time.Now(), time.Now().Add(-2*time.Hour)))
	keep(t, store, r)
	require.NoFileExists(t, half)
}

// TestNothingLeavesTheDirectory, whatever links and other files stand in it.
func TestNothingLeavesTheDirectory(t *testing.T) {
	t.Parallel()
	store, r, file := recorded(t)
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.Rename(file, outside))
	require.NoError(t, os.Symlink(outside, file))
	_, err := store.Get(t.Context(), r.Ref())
	require.ErrorContains(t, err, "cannot be read: is no regular file; put the file itself there, or delete it")
	require.Equal(t, domain.Internal, domain.AsError(err).Kind, "as one that is damaged: it is not well later by itself")
	require.NoError(t, store.Record(t.Context(), r), "the link is replaced, not followed")
	stores.Reads(t, store, r)

	folder := filepath.Dir(file)
	require.NoError(t, os.RemoveAll(folder))
	elsewhere := t.TempDir()
	require.NoError(t, os.Symlink(elsewhere, folder))
	require.Error(t, store.Record(t.Context(), r))
	left, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = store.Delete(t.Context(), r.AgentID)
	require.Error(t, err, "it cannot be listed, and is not deleted unseen")
	require.DirExists(t, elsewhere)
}

// TestNamesThatAreNoneOfOurs are not records, and harm none.
func TestNamesThatAreNoneOfOurs(t *testing.T) {
	t.Parallel()
	store, r, file := recorded(t)
	name := filepath.Base(file)
	for _, other := range []string{"x", "1-" + name, "+00001" + name[6:], "000002-.jsonl.zst", name + ".bak", "..name", "000001-" + r.AgentID.String() + ".json"} {
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), other), []byte("x"), 0o600))
	}
	stores.Reads(t, store, r)
}

// bomb is a small object that is long once it is decompressed: a head, and a line of spaces without an end.
func bomb(t *testing.T) []byte {
	t.Helper()
	var object bytes.Buffer
	z, err := zstd.NewWriter(&object)
	require.NoError(t, err)
	_, err = z.Write([]byte(head(record.SchemaVersion, `"v9"`, 1)))
	require.NoError(t, err)
	blank := bytes.Repeat([]byte(" "), 1<<20)
	for range record.MaxRecord>>20 + 64 {
		_, err = z.Write(blank)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return object.Bytes()
}

// TestAnObjectThatIsLongOnceItIsDecompressed is read as far as an import would, and no further.
func TestAnObjectThatIsLongOnceItIsDecompressed(t *testing.T) {
	t.Parallel()
	store, r, file := recorded(t)
	require.NoError(t, os.WriteFile(file, bomb(t), 0o600))
	_, err := store.Get(t.Context(), r.Ref())
	require.ErrorContains(t, err, "line 2: is longer than 64 MiB")
	require.Equal(t, domain.Internal, domain.AsError(err).Kind)
}

// TestARecordThatIsTooLongToBeReadIsRefused with the code of what is lost for good, so that it is not retried.
func TestARecordThatIsTooLongToBeReadIsRefused(t *testing.T) {
	t.Parallel()
	store, _ := inDirectory(t)
	r := stores.Sample(t, "ann", 1)[0]
	r.Ended.Answer = strings.Repeat("x", record.MaxRecord)
	err := store.Record(t.Context(), r)
	require.ErrorContains(t, err, "64 MiB")
	require.Equal(t, domain.CodeContextLost, domain.AsError(err).Code)
	left, err := store.List(t.Context(), r.AgentID)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestAStoreThatFailsSaysWhatAndWhere: the store, the object and the cause.
func TestAStoreThatFailsSaysWhatAndWhere(t *testing.T) {
	t.Parallel()
	r := stores.Sample(t, "ann", 1)[0]
	t.Run("a folder that cannot be written", func(t *testing.T) {
		t.Parallel()
		store, dir := inDirectory(t)
		require.NoError(t, os.WriteFile(filepath.Join(dir, r.AgentID.String()), nil, 0o600))
		err := store.Record(t.Context(), r)
		require.ErrorContains(t, err, "records: cannot write "+r.AgentID.String())
		require.ErrorContains(t, err, dir)
		require.Equal(t, domain.Unavailable, domain.AsError(err).Kind, "it may be well later")
	})
	t.Run("a disk that is full", func(t *testing.T) {
		t.Parallel()
		if _, err := os.Stat("/dev/full"); err != nil {
			t.Skip("this machine has no /dev/full")
		}
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		defer full.Close()
		require.ErrorContains(t, record.Compressed(full, r), "no space left on device")
	})
	t.Run("a bucket that is closed", func(t *testing.T) {
		t.Parallel()
		b := memblob.OpenBucket(nil)
		store := record.InBucket(b, "mem://records")
		require.NoError(t, b.Close())
		require.ErrorContains(t, store.Record(t.Context(), r), "mem://records")
		_, err := store.List(t.Context(), r.AgentID)
		require.ErrorContains(t, err, "cannot list", "nothing is not what it holds")
		_, err = store.Get(t.Context(), r.Ref())
		require.NotErrorIs(t, err, record.ErrNone)
		require.ErrorContains(t, err, "cannot read")
	})
	t.Run("one that is slow is left when the time is over", func(t *testing.T) {
		t.Parallel()
		store := inBucket(t, memblob.OpenBucket(nil))
		ctx, cancel := context.WithCancelCause(t.Context())
		over := errors.New("the time is over")
		cancel(over)
		require.ErrorIs(t, store.Record(ctx, r), over)
	})
}

// TestAnImportThatIsLeftLeavesNothing: neither the records written before, nor the one that is just being written, nor the
// folders made for them.
func TestAnImportThatIsLeftLeavesNothing(t *testing.T) {
	t.Parallel()
	file := written(t, append(stores.Sample(t, "ann", 2), stores.Sample(t, "bob", 1)...)...)
	kept, dir := both(t)
	for name, store := range kept {
		ctx, leave := context.WithCancel(t.Context())
		breaker, writes := record.Breaking(store, false), 0
		breaker.During = func() {
			if writes++; writes == 2 {
				leave()
			}
		}
		_, err := record.Import(ctx, store, record.All(strings.NewReader(file)), time.Unix(1, 0))
		require.Equal(t, context.Canceled, err, name)
		agents, err := store.Agents(t.Context())
		require.NoError(t, err)
		require.Empty(t, agents, name)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestAnImportTakesNothingOfAnother that runs at the same time: what the other has brought stays, and is the same to both.
func TestAnImportTakesNothingOfAnother(t *testing.T) {
	t.Parallel()
	all := stores.Sample(t, "ann", 2)
	all[1].Moved = new(positionAfter(t, all[1], 1))
	file := written(t, all...)
	kept, _ := both(t)
	for name, store := range kept {
		imports := func(ctx context.Context, at int64) (record.Imported, error) {
			return record.Import(ctx, store, record.All(strings.NewReader(file)), time.Unix(at, 0))
		}
		ctx, leave := context.WithCancel(t.Context())
		breaker := record.Breaking(store, false)
		breaker.During = func() { // the first is about to write
			breaker.During = nil
			done, err := imports(t.Context(), 2)
			require.NoError(t, err, name)
			require.Len(t, done.New, 2, name)
			leave()
		}
		_, err := imports(ctx, 1)
		require.Equal(t, context.Canceled, err, name)
		for _, r := range all {
			got, err := store.Get(t.Context(), r.Ref())
			require.NoError(t, err, name)
			require.Equal(t, time.Unix(2, 0).UTC(), got.Imported, name)
		}
		_, err = store.Position(t.Context(), all[1].Ref())
		require.NoError(t, err, name)

		done, err := imports(t.Context(), 3)
		require.NoError(t, err, name)
		require.Equal(t, 2, done.Known, name)
	}
}

// TestWhoReadsDuringAnImportFindsTheNewest execution of each session, and where the session was moved to: what is missing comes
// before them, and readers say that it does.
func TestWhoReadsDuringAnImportFindsTheNewest(t *testing.T) {
	t.Parallel()
	all := append(stores.Sample(t, "ann", 3), stores.Sample(t, "bob", 2)...)
	all[2].Moved = new(positionAfter(t, all[2], 1))
	file := written(t, all...)
	kept, _ := both(t)
	for name, store := range kept {
		writes, found := 0, []string{}
		breaker := record.Breaking(store, false)
		breaker.During = func() { // the writes before it were made
			writes++
			for _, newest := range []record.Record{all[2], all[4]} {
				refs, err := store.List(t.Context(), newest.AgentID)
				if err == nil && len(refs) > 0 && newest.Moved != nil {
					_, err = store.Position(t.Context(), newest.Ref())
				}
				if err != nil || len(refs) > 0 && refs[len(refs)-1] != newest.Ref() {
					found = append(found, fmt.Sprintf("before write %d: %v, %v", writes, refs, err))
				}
			}
		}
		done, err := record.Import(t.Context(), store, record.All(strings.NewReader(file)), time.Unix(1, 0))
		require.NoError(t, err)
		require.Len(t, done.New, len(all))
		require.Equal(t, len(all)+1, writes)
		require.Empty(t, found, name)
	}
}

// TestPartsOfAnExecution are kept each once, read as they are or not at all, and gone with the agent.
func TestPartsOfAnExecution(t *testing.T) {
	t.Parallel()
	const run = "0199a7e2-0000-7000-8000-000000000001"
	sample := stores.Sample(t, "ann", 1)[0]
	require.NotEmpty(t, sample.Steps)
	ref, other := sample.Ref(), sample.Ref()
	other.ExecutionID = ref.AgentID.Execution("other", 1)
	part := record.Part{Ref: ref, RunID: run, Steps: sample.Steps}
	partsOf := func(store *record.Store, ref record.Ref) []record.Part {
		parts, err := store.Parts(t.Context(), ref)
		require.NoError(t, err)
		return parts
	}
	kept, dir := both(t)
	for name, store := range kept {
		require.Empty(t, partsOf(store, ref), name)
		require.Error(t, store.Record(t.Context(), record.Part{Ref: ref, RunID: "../../etc", Steps: sample.Steps}), name)
		require.Error(t, store.Record(t.Context(), record.Part{Ref: ref, RunID: run}), name)
		for range 2 {
			require.NoError(t, store.Record(t.Context(), part))
		}
		parts := partsOf(store, ref)
		require.Len(t, parts, 1)
		require.Equal(t, []any{ref, run}, []any{parts[0].Ref, parts[0].RunID})
		require.Len(t, parts[0].Steps, len(sample.Steps))
		refs, err := store.List(t.Context(), ref.AgentID)
		require.NoError(t, err)
		require.Empty(t, refs, "a part is no record")
		require.Empty(t, partsOf(store, other), name)

		keep(t, store, sample)
		n, err := store.Delete(t.Context(), ref.AgentID)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Empty(t, partsOf(store, ref), "%s: deleted with the agent", name)

		require.NoError(t, store.Record(t.Context(), part))
		for range 2 {
			require.NoError(t, store.ForgetParts(t.Context(), ref))
		}
		require.Empty(t, partsOf(store, ref), name)
	}

	// Torn at any byte, one is no part.
	require.NoError(t, kept["directory"].Record(t.Context(), part))
	files, err := filepath.Glob(filepath.Join(dir, sample.AgentID.String(), "parts", "*", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	whole, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for n := range len(whole) {
		require.NoError(t, os.WriteFile(files[0], whole[:n], 0o600))
		require.Empty(t, partsOf(kept["directory"], ref), "%d of %d bytes", n, len(whole))
	}
}

// TestAStoreIsOpenedLater: once, when something is asked of it; why it cannot be is said as whoever opens it says it.
func TestAStoreIsOpenedLater(t *testing.T) {
	t.Parallel()
	opened := 0
	store := record.Later("later", func() (*record.Store, error) {
		opened++
		return record.OpenDirectory(t.TempDir())
	})
	require.Zero(t, opened)
	for range 2 {
		agents, err := store.Agents(t.Context())
		require.NoError(t, err)
		require.Empty(t, agents)
	}
	require.NoError(t, store.Close())
	require.Equal(t, 1, opened)
	locked := domain.Invalidf("records: the place is locked")
	_, err := record.Later("locked", func() (*record.Store, error) { return nil, locked }).Agents(t.Context())
	require.Equal(t, locked, err)
}
