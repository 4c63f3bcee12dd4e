package activities_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"everstep/activities"
	"everstep/activities/transcript"
	"everstep/domain"
	"everstep/domain/contract"
)

// recording runs the activity on a worker that holds the log, where the workflow answers no query.
func recording(t *testing.T, log domain.Log, storage *blob.Bucket, request contract.RecordRequest) (contract.Segment, error) {
	t.Helper()
	unasked := answersNothing(func() error { return serviceerror.NewQueryFailed("unknown") })
	source := &transcript.Source{Cache: transcript.NewCache(0), Client: unasked, Storage: storage}
	source.Cache.Feed("default-test-workflow-id", log, contract.Resolved{})
	a, err := activities.New(activities.Config{Transcripts: source, Storage: storage})
	require.NoError(t, err)
	return outcomeOf(t, plainEnvironment(), a, contract.Record, request)
}

func said(texts ...string) domain.Log {
	var log domain.Log
	for _, text := range texts {
		log = log.Append("", domain.UserMessage(text), domain.DigestOf([]byte(text)))
	}
	return log
}

func TestRecordWritesASegment(t *testing.T) {
	t.Parallel()
	storage := memblob.OpenBucket(nil)
	log := said("one", "two", "three")
	segment, err := recording(t, log, storage, contract.RecordRequest{From: 1, Log: log.Ref()})
	require.NoError(t, err)
	require.Equal(t, contract.Segment{
		RunID: "default-test-run-id", From: 1, To: 3, Digest: log.Chain(), Bytes: segment.Bytes,
	}, segment)
	object, err := storage.ReadAll(t.Context(), segment.Key("default-test-workflow-id"))
	require.NoError(t, err)
	require.Len(t, object, int(segment.Bytes))
}

// TestRecordFailures are tried again where another worker may do better.
func TestRecordFailures(t *testing.T) {
	t.Parallel()
	log := said("one", "two")
	for name, test := range map[string]struct {
		request contract.RecordRequest
		kind    domain.Kind
		final   bool
	}{
		"nothing to write": {contract.RecordRequest{From: 2, Log: log.Ref()}, domain.Invalid, true},
		"an old version":   {contract.RecordRequest{Log: said("one", "two", "three").Ref()}, domain.Unavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := recording(t, log, memblob.OpenBucket(nil), test.request)
			app, _ := failureOf(t, err)
			require.Equal(t, string(test.kind), app.Type())
			require.Equal(t, test.final, app.NonRetryable())
		})
	}
}

// unanswering is a workflow whose worker has stopped, so that nobody answers.
type unanswering struct{}

func (unanswering) QueryWorkflow(ctx context.Context, _, _, _ string, _ ...any) (converter.EncodedValue, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestRecordEndsWithItsWorker, which answers no question to the workflow any more: another worker writes the record, and
// this one does not stop only when its time is up.
func TestRecordEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &transcript.Source{Cache: transcript.NewCache(0), Client: unanswering{}, Storage: memblob.OpenBucket(nil)}
		a, err := activities.New(activities.Config{Transcripts: source, Storage: source.Storage})
		require.NoError(t, err)
		env := plainEnvironment()
		stopping := make(chan struct{})
		env.SetWorkerStopChannel(stopping)
		began := time.Now()
		time.AfterFunc(100*time.Millisecond, func() { close(stopping) })
		_, err = outcomeOf(t, env, a, contract.Record, contract.RecordRequest{Log: said("one").Ref()})
		app, _ := failureOf(t, err)
		require.Equal(t, string(domain.Unavailable), app.Type())
		require.False(t, app.NonRetryable())
		require.Less(t, time.Since(began), 3*time.Second)
	})
}
