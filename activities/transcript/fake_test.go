package transcript

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"everstep/domain"
	"everstep/domain/contract"
)

var testRun = workflow.Execution{ID: "agent/test", RunID: "run-1"}

// fakeWorkflow answers query messages as the real one does, from what it holds.
type fakeWorkflow struct {
	mu sync.Mutex
	// run is the one that answers; empty: testRun's.
	run      string
	log      domain.Log
	segments []contract.Segment
	resolved contract.Resolved
	// page bounds the entries of one answer. Zero: all.
	page int
	// asked are the questions so far; fail, where it returns an error, is the
	// answer to the n-th, counted from 1; bend changes the answer to the n-th.
	asked []contract.MessagesRequest
	fail  func(n int) error
	bend  func(n int, page *contract.MessagesPage)
}

func (f *fakeWorkflow) QueryWorkflow(ctx context.Context, workflowID, runID, name string, args ...any) (converter.EncodedValue, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if workflowID != testRun.ID || runID != cmp.Or(f.run, testRun.RunID) || name != "messages" || len(args) != 1 {
		return nil, fmt.Errorf("unexpected query %s of %s, %s", name, workflowID, runID)
	}
	ask := args[0].(contract.MessagesRequest)
	f.asked = append(f.asked, ask)
	if f.fail != nil {
		if err := f.fail(len(f.asked)); err != nil {
			return nil, err
		}
	}
	page := f.answer(ask)
	if f.bend != nil {
		f.bend(len(f.asked), &page)
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(page)
	if err != nil {
		return nil, err
	}
	return client.NewValue(payloads), ctx.Err()
}

func (f *fakeWorkflow) answer(ask contract.MessagesRequest) contract.MessagesPage {
	from := ask.From
	if ask.Chain != nil {
		if held, ok := f.log.ChainAt(from); !ok || held != *ask.Chain {
			from = f.log.Base()
		}
	}
	from = min(max(from, f.log.Base()), f.log.Len())
	before, _ := f.log.ChainAt(from)
	page := contract.MessagesPage{From: from, Before: before, Base: f.log.Base(), Length: f.log.Len()}
	if from == f.log.Base() {
		page.Segments = f.segments
	}
	if ask.Resolved != nil && *ask.Resolved != f.resolved.Digest {
		page.Resolved = &f.resolved
	}
	for _, e := range f.log.From(from) {
		if full := len(page.Entries); f.page > 0 && full >= f.page || ask.Limit > 0 && full >= ask.Limit {
			break
		}
		page.Entries = append(page.Entries, e)
	}
	return page
}

// leave moves the first n messages to storage, as one segment after those that
// are there already.
func (f *fakeWorkflow) leave(t testing.TB, storage *blob.Bucket, n int) contract.Segment {
	t.Helper()
	chain, ok := f.log.ChainAt(n)
	require.True(t, ok)
	segment := contract.Segment{RunID: "run-0", From: f.log.Base(), To: n, Digest: chain}
	before, _ := f.log.ChainAt(f.log.Base())
	store(t, storage, segment, before, f.log.From(f.log.Base())[:n-f.log.Base()])
	f.segments = append(f.segments, segment)
	f.drop(t, n)
	return segment
}

// drop forgets the first n messages, as a run does that hands on none that are
// hidden.
func (f *fakeWorkflow) drop(t testing.TB, n int) { f.log = partOf(t, f.log, n, f.log.Len()) }

// partOf returns the messages of a log from an index up to another.
func partOf(t require.TestingT, log domain.Log, from, to int) domain.Log {
	chain, ok := log.ChainAt(from)
	require.True(t, ok)
	head, ok := log.Upto(to)
	require.True(t, ok)
	part, err := domain.LogAt(from, chain).Join(head.From(from)...)
	require.NoError(t, err)
	return part
}

func store(t testing.TB, storage *blob.Bucket, segment contract.Segment, before domain.Digest, entries []domain.Entry) {
	t.Helper()
	object, err := encode(before, entries, maxSegment)
	require.NoError(t, err)
	require.NoError(t, storage.WriteAll(t.Context(), segment.Key(testRun.ID), object, nil))
}

// conversation returns a log of n messages; those of different seeds differ
// from message at on.
func conversation(n, at int, seed string) domain.Log {
	var log domain.Log
	for i := range n {
		text := fmt.Sprintf("message %d", i)
		if i >= at {
			text += seed
		}
		log = say(log, text)
	}
	return log
}

func say(log domain.Log, text string) domain.Log {
	return log.Append("", domain.UserMessage(text), domain.DigestOf([]byte(text)))
}

func memory(t testing.TB) *blob.Bucket {
	t.Helper()
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	return bucket
}

func sourceOf(f *fakeWorkflow, storage *blob.Bucket) *Source {
	return &Source{Cache: NewCache(0), Client: f, Storage: storage, pause: time.Nanosecond}
}

// texts are what the messages say.
func texts(entries []domain.Entry) []string {
	said := make([]string, len(entries))
	for i, e := range entries {
		said[i] = e.Message.Text()
	}
	return said
}
