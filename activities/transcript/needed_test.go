package transcript

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// What is hidden from the model may be nowhere any more: only what is needed is
// asked for, and the digest of the whole vouches for it all the same.
func TestFetchOfWhatIsNeeded(t *testing.T) {
	t.Parallel()
	log := conversation(20, 20, "")
	for name, test := range map[string]struct {
		base   int
		cached domain.Log
		asked  int
	}{
		"the run begins there":          {base: 9, asked: 1},
		"the run begins before":         {base: 5, asked: 1},
		"the run has everything":        {base: 0, asked: 1},
		"it is cached":                  {base: 9, cached: partOf(t, log, 9, 20), asked: 0},
		"more is cached":                {base: 9, cached: log, asked: 0},
		"its beginning is cached":       {base: 9, cached: partOf(t, log, 7, 12), asked: 1},
		"its end is cached":             {base: 9, cached: partOf(t, log, 15, 20), asked: 3},
		"what came before is cached":    {base: 9, cached: partOf(t, log, 0, 6), asked: 1},
		"something else is cached":      {base: 9, cached: conversation(20, 4, " else"), asked: 1},
		"the end of other is cached":    {base: 9, cached: partOf(t, conversation(30, 4, " else"), 12, 30), asked: 1},
		"the end is cached, and longer": {base: 9, cached: partOf(t, conversation(30, 20, " more"), 12, 30), asked: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeWorkflow{log: log}
			f.drop(t, test.base)
			s := sourceOf(f, nil)
			if test.cached.Len() > 0 {
				s.Cache.Feed(testRun.ID, test.cached, contract.Resolved{})
			}
			for range 2 { // The second time all is cached.
				requireFetched(t, s, log, 9)
				require.Len(t, f.asked, test.asked)
			}
		})
	}
	t.Run("more was dropped", func(t *testing.T) {
		t.Parallel()
		f := &fakeWorkflow{log: log}
		f.drop(t, 10)
		requireLost(t, sourceOf(f, nil), log, 9, "messages 9 to 9 are in no segment")
	})
	t.Run("what came before was other", func(t *testing.T) {
		t.Parallel()
		f := &fakeWorkflow{log: conversation(20, 9, "")}
		f.drop(t, 9)
		f.bend = func(_ int, page *contract.MessagesPage) { page.Before = domain.DigestOf([]byte("other")) }
		_, err := sourceOf(f, nil).fetch(t.Context(), testRun, request{from: 9, ref: log.Ref()})
		requireError(t, err, domain.Unavailable, domain.CodeContextLost, "are not those that the activity was given")
	})
}

// Segments that hold only what is hidden are not read.
func TestFetchReadsNeededSegmentsOnly(t *testing.T) {
	t.Parallel()
	log := conversation(20, 20, "")
	storage := memory(t)
	f := &fakeWorkflow{log: log}
	hidden := f.leave(t, storage, 5)
	f.leave(t, storage, 9)
	f.leave(t, storage, 15)
	require.NoError(t, storage.Delete(t.Context(), hidden.Key(testRun.ID)))
	for _, needed := range []int{5, 7, 9, 12, 15, 18} {
		requireFetched(t, sourceOf(f, storage), log, needed)
	}
	requireLost(t, sourceOf(f, storage), log, 4, "messages 0 to 4 are lost")

	// What is read for it is found again, and is not taken for all.
	s := sourceOf(f, storage)
	requireFetched(t, s, log, 6)
	asked := len(f.asked)
	requireFetched(t, s, log, 5)
	require.Len(t, f.asked, asked)
	requireLost(t, s, log, 0, "messages 0 to 4 are lost")
}

// A session that dropped what was hidden, and got storage later, has segments
// that begin in the middle, or with a gap that nobody needs.
func TestFetchOfSegmentsWithAGap(t *testing.T) {
	t.Parallel()
	log := conversation(20, 20, "")
	storage := memory(t)
	f := &fakeWorkflow{log: log}
	f.drop(t, 4)
	f.leave(t, storage, 8)
	f.drop(t, 10)
	f.leave(t, storage, 16)
	for _, needed := range []int{10, 11, 16, 17} {
		requireFetched(t, sourceOf(f, storage), log, needed)
	}
	requireLost(t, sourceOf(f, storage), log, 9, "messages 9 to 9 are in no segment")
	requireLost(t, sourceOf(f, storage), log, 0, "messages 0 to 3 are in no segment")
}
