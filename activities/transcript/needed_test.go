package transcript

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestFetchAsksForWhatTheCacheLacks: what is hidden from the model may be nowhere any more, so only what is needed is asked
// for, and the digest of the whole vouches for it all the same.
func TestFetchAsksForWhatTheCacheLacks(t *testing.T) {
	t.Parallel()
	log := conversation(20, 20, "")
	other, longer := conversation(30, 4, " that never entered history"), conversation(30, 30, "")
	for name, test := range map[string]struct {
		// from is the first message that is needed, base the first that the run has, page how many it tells at once.
		from, base, page int
		cached           domain.Log
		// asked are the indexes from which the workflow is asked.
		asked []int
	}{
		"nothing is cached":                   {0, 0, 0, domain.Log{}, []int{0}},
		"nothing is cached, small pages":      {0, 0, 8, domain.Log{}, []int{0, 8, 16}},
		"all is cached":                       {0, 0, 0, log, nil},
		"more is cached":                      {0, 0, 0, longer, nil},
		"a part is cached":                    {0, 0, 0, mustUpto(t, log, 6), []int{6}},
		"a part is cached, small pages":       {0, 0, 8, mustUpto(t, log, 6), []int{6, 14}},
		"something else is cached":            {0, 0, 0, mustUpto(t, other, 8), []int{8}},
		"the run begins where it is needed":   {9, 9, 0, domain.Log{}, []int{0}},
		"the run begins before":               {9, 5, 0, domain.Log{}, []int{0}},
		"the run has everything":              {9, 0, 0, domain.Log{}, []int{0}},
		"what is needed is cached":            {9, 9, 0, partOf(t, log, 9, 20), nil},
		"more than is needed is cached":       {9, 9, 0, log, nil},
		"its beginning is cached":             {9, 9, 0, partOf(t, log, 7, 12), []int{12}},
		"its end is cached":                   {9, 9, 0, partOf(t, log, 15, 20), []int{20, 0, 0}},
		"what came before is cached":          {9, 9, 0, partOf(t, log, 0, 6), []int{6}},
		"something else is cached in place":   {9, 9, 0, mustUpto(t, other, 20), []int{0}},
		"the end of something else is cached": {9, 9, 0, partOf(t, other, 12, 30), []int{0}},
		"its end is cached, and more":         {9, 9, 0, partOf(t, longer, 12, 30), []int{20, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeWorkflow{log: log, page: test.page}
			f.drop(t, test.base)
			s := sourceOf(f, nil)
			if test.cached.Len() > 0 {
				s.Cache.Feed(testRun.ID, test.cached, contract.Resolved{})
			}
			for range 2 { // The second time all is cached.
				requireFetched(t, s, log, test.from)
			}
			var asked []int
			for _, a := range f.asked {
				asked = append(asked, a.From)
			}
			require.Equal(t, test.asked, asked)
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
