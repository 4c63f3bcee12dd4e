package transcript

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
)

func TestFetchAsksForTheDefinitionAlone(t *testing.T) {
	t.Parallel()
	log := conversation(5, 5, "")
	older := contract.Resolved{Digest: domain.DigestOf([]byte("older"))}
	f := &fakeWorkflow{log: log, resolved: contract.Resolved{Digest: domain.DigestOf([]byte("newer")), MinOutputTokens: 7}}
	s := sourceOf(f, nil)
	s.Cache.Feed(testRun.ID, log, older)
	got, err := s.fetch(t.Context(), testRun, request{ref: log.Ref(), resolved: f.resolved.Digest})
	require.NoError(t, err)
	require.EqualValues(t, 7, got.Resolved.MinOutputTokens)
	require.Equal(t, 5, f.asked[0].From)

	_, err = s.fetch(t.Context(), testRun, request{ref: log.Ref(), resolved: domain.DigestOf([]byte("a third"))})
	requireError(t, err, domain.Unavailable, domain.CodeContextLost, "definition")
}

func TestFetchReadsSegments(t *testing.T) {
	t.Parallel()
	log := conversation(12, 12, "")
	storage := memory(t)
	f := &fakeWorkflow{log: log}
	f.leave(t, storage, 4)
	f.leave(t, storage, 9)
	requireFetched(t, sourceOf(f, storage), log, 0)

	// A worker that took over in the middle was fed with what the run holds.
	s := sourceOf(f, storage)
	s.Cache.Feed(testRun.ID, f.log, f.resolved)
	f.asked = nil
	requireFetched(t, s, log, 0)
	require.Equal(t, 12, f.asked[0].From, "what it was fed with is not sent again")
	require.Equal(t, 1, f.asked[1].Limit, "only the segments are asked for")
	require.Len(t, f.asked, 2)

	// What is cached is not read from storage.
	s = sourceOf(f, memory(t))
	s.Cache.Feed(testRun.ID, mustUpto(t, log, 9), f.resolved)
	requireFetched(t, s, log, 0)

	// The first segment is cached, the second is read.
	s = sourceOf(f, storage)
	s.Cache.Feed(testRun.ID, mustUpto(t, log, 4), f.resolved)
	require.NoError(t, storage.Delete(t.Context(), f.segments[0].Key(testRun.ID)))
	requireFetched(t, s, log, 0)
}

func TestFetchReportsWhatStorageLacks(t *testing.T) {
	t.Parallel()
	other := conversation(4, 0, " of another conversation")
	for name, test := range map[string]struct {
		spoil  func(t *testing.T, s *Source, f *fakeWorkflow)
		kind   domain.Kind
		says   string
		rounds int
	}{
		"no object": {func(t *testing.T, s *Source, f *fakeWorkflow) {
			require.NoError(t, s.Storage.Delete(t.Context(), f.segments[0].Key(testRun.ID)))
		}, domain.Invalid, "messages 0 to 3 are lost: storage has no object segments/agent/test/run-0/0-4-", 1},
		"no storage": {func(_ *testing.T, s *Source, _ *fakeWorkflow) {
			s.Storage = nil
		}, domain.Unavailable, "this worker has none", 1},
		"a damaged object": {func(t *testing.T, s *Source, f *fakeWorkflow) {
			key := f.segments[0].Key(testRun.ID)
			object, err := s.Storage.ReadAll(t.Context(), key)
			require.NoError(t, err)
			object[len(object)/2] ^= 0x40
			require.NoError(t, s.Storage.WriteAll(t.Context(), key, object, nil))
		}, domain.Invalid, "messages 0 to 3 are lost: object segments/agent/test/run-0/0-4-", 1},
		"a shortened object": {func(t *testing.T, s *Source, f *fakeWorkflow) {
			store(t, s.Storage, f.segments[0], domain.Digest{}, conversation(3, 3, "").Entries())
		}, domain.Unavailable, "messages 0 to 3, as stored in segments/", 2},
		"other messages": {func(t *testing.T, s *Source, f *fakeWorkflow) {
			store(t, s.Storage, f.segments[0], domain.Digest{}, other.Entries())
		}, domain.Unavailable, "are not those that were recorded", 2},
		"a segment of another conversation": {func(t *testing.T, s *Source, f *fakeWorkflow) {
			whole := conversation(8, 2, " of another conversation")
			f.segments = []contract.Segment{{RunID: "run-0", From: 0, To: 8, Digest: whole.Chain()}}
			store(t, s.Storage, f.segments[0], domain.Digest{}, whole.Entries())
		}, domain.Unavailable, "the stored messages before 8 are not those that the workflow continues", 2},
		"a segment less": {func(_ *testing.T, _ *Source, f *fakeWorkflow) {
			f.segments = f.segments[1:]
		}, domain.Invalid, "messages 0 to 3 are in no segment", 1},
		"the last segment less": {func(_ *testing.T, _ *Source, f *fakeWorkflow) {
			f.segments = f.segments[:1]
		}, domain.Invalid, "messages 4 to 7 are in no segment", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := conversation(10, 10, "")
			f := &fakeWorkflow{log: log}
			s := sourceOf(f, memory(t))
			f.leave(t, s.Storage, 4)
			f.leave(t, s.Storage, 8)
			test.spoil(t, s, f)
			_, err := s.fetch(t.Context(), testRun, request{ref: log.Ref()})
			requireError(t, err, test.kind, domain.CodeContextLost, test.says)
			require.Len(t, f.asked, test.rounds)
		})
	}
}

func TestFetchDoesNotBelieveWhatDiffers(t *testing.T) {
	t.Parallel()
	log := conversation(6, 6, "")
	longer := conversation(9, 9, "")
	for name, test := range map[string]struct {
		held domain.Log
		bend func(n int, page *contract.MessagesPage)
		says string
	}{
		"the workflow holds less":  {held: mustUpto(t, log, 4), says: "holds 4 of 6 messages"},
		"the workflow holds other": {held: conversation(6, 3, " changed"), says: "are not those that the activity was given"},
		"a page has a gap": {held: longer, says: "out of order", bend: func(_ int, page *contract.MessagesPage) {
			page.Entries = append(page.Entries[:1:1], page.Entries[2:]...)
		}},
		"a page begins elsewhere": {held: longer, says: "are not those", bend: func(_ int, page *contract.MessagesPage) {
			page.Before = domain.DigestOf([]byte("elsewhere"))
		}},
		"the messages change between pages": {held: longer, says: "changed while they were read", bend: func(n int, page *contract.MessagesPage) {
			if page.Entries = page.Entries[:2]; n%2 == 0 {
				page.Before = domain.DigestOf([]byte("elsewhere"))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeWorkflow{log: test.held, bend: test.bend}
			s := sourceOf(f, nil)
			s.Cache.Feed(testRun.ID, conversation(3, 1, " stale"), contract.Resolved{})
			_, err := s.fetch(t.Context(), testRun, request{ref: log.Ref()})
			requireError(t, err, domain.Unavailable, domain.CodeContextLost, test.says)
			_, _, ok := s.Cache.Find(testRun.ID)
			require.False(t, ok, "what led to a mismatch is forgotten")

			// It is asked once more from scratch, and believed if that is right.
			f.log, f.asked = longer, nil
			f.bend = func(n int, page *contract.MessagesPage) {
				if n == 1 {
					page.Entries = page.Entries[:3]
					page.Entries[2].Digest = domain.DigestOf([]byte("wrong"))
				}
				if n == 2 {
					page.Entries = page.Entries[:0]
				}
			}
			requireFetched(t, s, log, 0)
			require.Len(t, f.asked, 3)
		})
	}
}

func TestFetchTriesAgain(t *testing.T) {
	t.Parallel()
	log := conversation(3, 3, "")
	slow := serviceerror.NewDeadlineExceeded("query timed out")
	older := serviceerror.NewQueryFailed("it cannot replay this")
	for name, test := range map[string]struct {
		errs  []error
		tries int
		kind  domain.Kind
		code  domain.Code
		says  string
	}{
		"an answer at the third try": {errs: []error{slow, serviceerror.NewWorkflowNotReady("not yet")}, tries: 3},
		"no answer": {[]error{slow, slow, slow}, 3, domain.Unavailable, domain.CodeTimeout,
			"did not tell its messages in 3 tries of 12s"},
		"no such run": {[]error{serviceerror.NewNotFound("no workflow")}, 1, domain.Invalid, domain.CodeContextLost,
			"run run-1 of agent/test is gone"},
		"a worker that cannot tell, then another": {errs: []error{older, older}, tries: 3},
		"workers that cannot tell": {[]error{older, older, older}, 3, domain.Unavailable, domain.CodeContextLost,
			"are all workers of the same version?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeWorkflow{log: log, fail: func(n int) error {
				if n <= len(test.errs) {
					return test.errs[n-1]
				}
				return nil
			}}
			_, err := sourceOf(f, nil).fetch(t.Context(), testRun, request{ref: log.Ref()})
			require.Len(t, f.asked, test.tries)
			if test.kind == "" {
				require.NoError(t, err)
				return
			}
			requireError(t, err, test.kind, test.code, test.says)
			require.Equal(t, test.code == domain.CodeContextLost && test.kind == domain.Unavailable, domain.AsError(err).Lacking)
		})
	}
}

func TestFetchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	why := errors.New("a stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	f := &fakeWorkflow{log: conversation(3, 3, ""), fail: func(int) error {
		cancel(why)
		return serviceerror.NewDeadlineExceeded("query timed out")
	}}
	_, err := sourceOf(f, nil).fetch(ctx, testRun, request{ref: f.log.Ref()})
	require.ErrorIs(t, err, why)
	require.Len(t, f.asked, 1)
}

func TestActivitiesThatMissTogetherAskOnce(t *testing.T) {
	t.Parallel()
	f := &fakeWorkflow{log: conversation(20, 20, "")}
	s := sourceOf(f, nil)
	var all sync.WaitGroup
	errs := make(chan error, 50)
	for range cap(errs) {
		all.Go(func() {
			_, err := s.fetch(t.Context(), testRun, request{ref: f.log.Ref()})
			errs <- err
		})
	}
	all.Wait()
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	require.Len(t, f.asked, 1)
}

// Whatever is cached, stored and paged: the messages asked for are what comes.
func TestFetchIsRight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		storage := memory(t)
		log := conversation(rapid.IntRange(1, 40).Draw(rt, "length"), 99, "")
		f := &fakeWorkflow{log: log, page: rapid.IntRange(0, 7).Draw(rt, "page")}
		s := sourceOf(f, storage)
		s.Cache.max = int64(rapid.SampledFrom([]int{1 << 20, 4000, 1}).Draw(rt, "cache"))
		for i := range rapid.IntRange(1, 8).Draw(rt, "rounds") {
			if left := f.log.Len() - f.log.Base(); rapid.Bool().Draw(rt, "leave") && left > 0 {
				f.leave(t, storage, f.log.Base()+rapid.IntRange(1, left).Draw(rt, "segment"))
			}
			switch rapid.IntRange(0, 3).Draw(rt, "feed") {
			case 0:
				s.Cache.Feed(testRun.ID, f.log, f.resolved)
			case 1:
				fork := conversation(rapid.IntRange(0, 50).Draw(rt, "fork"), rapid.IntRange(0, 40).Draw(rt, "at"), fmt.Sprint(" other ", i))
				s.Cache.Feed(testRun.ID, fork, f.resolved)
			case 2:
				s.Cache.Clear()
			}
			n := rapid.IntRange(f.log.Base(), log.Len()).Draw(rt, "ref")
			ref, _ := log.Upto(n)
			got, err := s.fetch(t.Context(), testRun, request{ref: ref.Ref()})
			require.NoError(rt, err)
			require.Equal(rt, texts(ref.Entries()), texts(got.Entries))
		}
	})
}

// TestFetchOfALogThatLeftWhole: the cache was fed with a log of which the run
// holds nothing any more.
func TestFetchOfALogThatLeftWhole(t *testing.T) {
	t.Parallel()
	log := conversation(1, 1, "")
	storage := memory(t)
	f := &fakeWorkflow{log: log}
	f.leave(t, storage, 1)
	s := sourceOf(f, storage)
	s.Cache.Feed(testRun.ID, f.log, f.resolved)
	requireFetched(t, s, log, 0)
}

// requireFetched makes sure that all of a log from an index on is found.
func requireFetched(t *testing.T, s *Source, log domain.Log, from int) {
	t.Helper()
	got, err := s.fetch(t.Context(), testRun, request{from: from, ref: log.Ref()})
	require.NoError(t, err)
	require.Equal(t, texts(log.From(from)), texts(got.Entries), "what is not needed is not shown")
	require.Equal(t, log.Ref(), got.Log.Ref())
}

// requireLost makes sure that some of them are found nowhere.
func requireLost(t *testing.T, s *Source, log domain.Log, from int, says string) {
	t.Helper()
	_, err := s.fetch(t.Context(), testRun, request{from: from, ref: log.Ref()})
	requireError(t, err, domain.Invalid, domain.CodeContextLost, says)
}

func mustUpto(t *testing.T, log domain.Log, n int) domain.Log {
	t.Helper()
	head, ok := log.Upto(n)
	require.True(t, ok)
	return head
}

func requireError(t *testing.T, err error, kind domain.Kind, code domain.Code, says string) {
	t.Helper()
	require.Error(t, err)
	own := domain.AsError(err)
	require.Equal(t, kind, own.Kind, own.Message)
	require.Equal(t, code, own.Code, own.Message)
	require.Contains(t, own.Message, says)
}
