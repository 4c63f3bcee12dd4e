package transcript

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
)

func TestRecord(t *testing.T) {
	t.Parallel()
	storage := memory(t)
	log := conversation(9, 9, "")
	f := &fakeWorkflow{log: log}
	first, err := sourceOf(f, storage).record(t.Context(), testRun, contract.RecordRequest{From: 0, Log: mustUpto(t, log, 5).Ref()})
	require.NoError(t, err)
	chain, _ := log.ChainAt(5)
	require.Equal(t, contract.Segment{RunID: "run-1", From: 0, To: 5, Digest: chain, Bytes: first.Bytes}, first)
	attributes, err := storage.Attributes(t.Context(), first.Key(testRun.ID))
	require.NoError(t, err)
	require.Equal(t, attributes.Size, first.Bytes)

	// Once more, by another worker: the same bytes under the same name.
	again, err := sourceOf(f, storage).record(t.Context(), testRun, contract.RecordRequest{From: 0, Log: mustUpto(t, log, 5).Ref()})
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, []string{first.Key(testRun.ID)}, keys(t, storage))

	// The next segment needs nothing of the first.
	require.NoError(t, storage.Delete(t.Context(), first.Key(testRun.ID)))
	f.segments = []contract.Segment{first}
	f.drop(t, 5)
	second, err := sourceOf(f, storage).record(t.Context(), testRun, contract.RecordRequest{From: 5, Log: log.Ref()})
	require.NoError(t, err)
	require.Equal(t, log.Chain(), second.Digest)
	entries, err := sourceOf(f, storage).read(t.Context(), testRun.ID, second)
	require.NoError(t, err)
	require.Equal(t, texts(log.From(5)), texts(entries.entries))
	require.Equal(t, chain, entries.before)
}

// A segment in a directory is on the disk before it is named, with the folders that
// lead to it; one that the disk does not take is none.
func TestSegmentsInADirectoryReachTheDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storage, err := fileblob.OpenBucket(dir, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, storage.Close()) })
	log := conversation(5, 5, "")
	s := sourceOf(&fakeWorkflow{log: log}, storage)
	var synced []string
	full := errors.New("no space left")
	s.sync = func(*os.File) error { return full }
	request := contract.RecordRequest{From: 0, Log: log.Ref()}
	_, err = s.record(t.Context(), testRun, request)
	require.Equal(t, domain.Unavailable, domain.AsError(err).Kind)
	require.Empty(t, keys(t, storage))

	s.sync = func(file *os.File) error {
		info, err := file.Stat()
		require.NoError(t, err)
		require.Equal(t, len(synced) > 0, info.IsDir(), "first the file, then what names it")
		require.Positive(t, info.Size(), "all of it is there")
		synced = append(synced, file.Name())
		return file.Sync()
	}
	segment, err := s.record(t.Context(), testRun, request)
	require.NoError(t, err)
	require.Len(t, synced, 2+strings.Count(segment.Key(testRun.ID), "/"))
	require.Equal(t, dir, synced[len(synced)-1])
	s.sync = nil
	_, err = s.record(t.Context(), testRun, request)
	require.NoError(t, err)
}

// A fork's segment holds the messages of another agent until a step, those too that its storage has, also where the step lies
// within what is stored as one.
func TestRecordCopiesFromAnotherAgent(t *testing.T) {
	t.Parallel()
	for name, length := range map[string]int{"in memory": 7, "where a segment ends": 4, "within the first segment": 1, "within the second": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storage := memory(t)
			log := conversation(12, 12, "")
			origin := &fakeWorkflow{log: log}
			origin.leave(t, storage, 2)
			origin.leave(t, storage, 4)
			fork := workflow.Execution{ID: "agent/fork", RunID: "run-9"}
			upTo := mustUpto(t, log, length)
			want := contract.RecordRequest{Log: upTo.Ref(), RunID: testRun.RunID, WorkflowID: testRun.ID}
			segment, err := sourceOf(origin, storage).record(t.Context(), fork, want)
			require.NoError(t, err)
			require.Equal(t, contract.Segment{RunID: "run-9", To: length, Digest: upTo.Chain(), Bytes: segment.Bytes}, segment)
			found, err := sourceOf(origin, storage).read(t.Context(), fork.ID, segment)
			require.NoError(t, err)
			require.Equal(t, texts(upTo.Entries()), texts(found.entries))

			other := want
			other.Log.Digest = domain.DigestOf([]byte("another conversation"))
			_, err = sourceOf(origin, storage).record(t.Context(), fork, other)
			requireError(t, err, domain.Unavailable, domain.CodeContextLost, "are not those that")

			want.WorkflowID = ""
			_, err = sourceOf(origin, storage).record(t.Context(), fork, want)
			require.ErrorContains(t, err, "did not tell its messages", "it is none of the fork's own runs")
		})
	}
}

// An ended run's messages are copied into a segment of the run that goes on.
func TestRecordCopiesFromAnotherRun(t *testing.T) {
	t.Parallel()
	storage := memory(t)
	log := conversation(12, 12, "")
	ended := &fakeWorkflow{run: "run-0", log: log}
	ended.leave(t, storage, 4)
	want := contract.RecordRequest{From: 4, Log: log.Ref(), RunID: "run-0"}
	segment, err := sourceOf(ended, storage).record(t.Context(), testRun, want)
	require.NoError(t, err)
	require.Equal(t, contract.Segment{RunID: "run-1", From: 4, To: 12, Digest: log.Chain(), Bytes: segment.Bytes}, segment)

	// The run that goes on knows the ended one's segments and its own.
	next := &fakeWorkflow{log: domain.LogAt(12, log.Chain()), segments: append(ended.segments, segment)}
	requireFetched(t, sourceOf(next, storage), log, 0)

	want.RunID = ""
	_, err = sourceOf(ended, storage).record(t.Context(), testRun, want)
	require.ErrorContains(t, err, "did not tell its messages", "without its id the ended run is not asked")
}

func TestRecordRefuses(t *testing.T) {
	t.Parallel()
	log := conversation(3, 3, "")
	for name, test := range map[string]struct {
		want    contract.RecordRequest
		storage *blob.Bucket
		kind    domain.Kind
		says    string
	}{
		"nothing":       {contract.RecordRequest{From: 3, Log: log.Ref()}, memory(t), domain.Invalid, "no message from 3 up to 3"},
		"less":          {contract.RecordRequest{From: -1, Log: log.Ref()}, memory(t), domain.Invalid, "no message from -1"},
		"no storage":    {contract.RecordRequest{Log: log.Ref()}, nil, domain.Unavailable, "this worker has none"},
		"another log":   {contract.RecordRequest{Log: conversation(3, 0, "!").Ref()}, memory(t), domain.Unavailable, "are not those"},
		"a longer log":  {contract.RecordRequest{Log: conversation(4, 4, "").Ref()}, memory(t), domain.Unavailable, "holds 3 of 4"},
		"closed bucket": {contract.RecordRequest{Log: log.Ref()}, closed(t), domain.Unavailable, "cannot write object segments/agent/test/run-1/0-3-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := sourceOf(&fakeWorkflow{log: log}, test.storage).record(t.Context(), testRun, test.want)
			require.Error(t, err)
			require.Equal(t, test.kind, domain.AsError(err).Kind)
			require.Contains(t, err.Error(), test.says)
		})
	}
}

func closed(t *testing.T) *blob.Bucket {
	t.Helper()
	bucket, err := blob.OpenBucket(t.Context(), "mem://")
	require.NoError(t, err)
	require.NoError(t, bucket.Close())
	return bucket
}

func TestSegmentRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var log domain.Log
		for _, text := range rapid.SliceOfN(rapid.String(), 0, 20).Draw(rt, "texts") {
			log = say(log, strings.ToValidUTF8(text, "?"))
		}
		log = partOf(rt, log, rapid.IntRange(0, log.Len()).Draw(rt, "from"), log.Len())
		before, _ := log.ChainAt(log.Base())
		object, err := encode(before, log.Entries(), maxSegment)
		require.NoError(rt, err)
		same, err := encode(before, log.Entries(), maxSegment)
		require.NoError(rt, err)
		require.Equal(rt, object, same)
		found, err := decode(object, len(log.Entries()), maxSegment)
		require.NoError(rt, err)
		if len(log.Entries()) == 0 {
			require.Empty(rt, found.entries)
			return
		}
		require.Equal(rt, before, found.before)
		back, err := domain.LogAt(log.Base(), found.before).Join(found.entries...)
		require.NoError(rt, err)
		require.Equal(rt, log.Ref(), back.Ref())
		require.Equal(rt, texts(log.Entries()), texts(back.Entries()))
	})
}

// A segment that was cut anywhere is not read as a shorter one, unless its
// digest can tell.
func TestSegmentCut(t *testing.T) {
	t.Parallel()
	log := conversation(30, 30, "")
	object, err := encode(domain.Digest{}, log.Entries(), maxSegment)
	require.NoError(t, err)
	for n := 1; n < len(object); n++ {
		_, err := decode(object[:n], 30, maxSegment)
		require.Error(t, err, "cut at %d of %d", n, len(object))
	}
	_, err = decode(append(object[:len(object):len(object)], "rubbish"...), 30, maxSegment)
	require.Error(t, err)
	require.NotErrorIs(t, err, io.EOF)
}

// A small object can hold any amount: no more is read than a segment may hold, and no more is written.
func TestSegmentIsBounded(t *testing.T) {
	t.Parallel()
	log := say(conversation(2, 2, ""), strings.Repeat("x", 1<<20))
	object, err := encode(domain.Digest{}, log.Entries(), maxSegment)
	require.NoError(t, err)
	require.Less(t, len(object), 1<<12)
	for _, test := range []struct {
		count int
		most  int64
	}{{3, 1 << 20}, {3, 100}, {2, maxSegment}, {0, maxSegment}} {
		_, err = decode(object, test.count, test.most)
		require.ErrorContains(t, err, "more than a segment may")
	}
	_, err = encode(domain.Digest{}, log.Entries(), 1<<20)
	require.ErrorContains(t, err, "more than a segment may")
	require.NotErrorIs(t, err, io.EOF)
}

// No more is read of an object than is asked for.
func TestALongObjectIsCut(t *testing.T) {
	t.Parallel()
	bucket := memory(t)
	require.NoError(t, bucket.WriteAll(t.Context(), "long", []byte("0123456789"), nil))
	for most, want := range map[int64]string{4: "0123", 10: "0123456789", 20: "0123456789"} {
		object, err := (&Source{Storage: bucket}).object(t.Context(), "long", most)
		require.NoError(t, err)
		require.Equal(t, want, string(object))
	}
}

func keys(t *testing.T, bucket *blob.Bucket) []string {
	t.Helper()
	var found []string
	objects, failed := bucket.List(nil).All(t.Context())
	for object := range objects {
		found = append(found, object.Key)
	}
	require.NoError(t, failed())
	return found
}
