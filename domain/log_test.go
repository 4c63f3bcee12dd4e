package domain_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

func logOf(texts ...string) domain.Log {
	var log domain.Log
	for _, text := range texts {
		log = appended(log, text)
	}
	return log
}

func appended(log domain.Log, text string) domain.Log {
	return log.Append("", domain.UserMessage(text), domain.DigestOf([]byte(text)))
}

func textsOf(entries []domain.Entry) []string {
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = e.Message.Text()
	}
	return texts
}

func TestLogForks(t *testing.T) {
	t.Parallel()
	log := logOf("a", "b", "c", "d", "e")
	one, two := appended(log, "one"), appended(log, "two")
	longer := appended(appended(one, "three"), "four")
	require.Equal(t, []string{"a", "b", "c", "d", "e", "one"}, textsOf(one.Entries()))
	require.Equal(t, []string{"a", "b", "c", "d", "e", "two"}, textsOf(two.Entries()))
	require.Equal(t, []string{"a", "b", "c", "d", "e", "one", "three", "four"}, textsOf(longer.Entries()))
	require.Equal(t, 5, log.Len())
	upto, ok := longer.Upto(5)
	require.True(t, ok)
	require.Equal(t, []string{"a", "b", "c", "d", "e", "five"}, textsOf(appended(upto, "five").Entries()))
	require.Equal(t, "one", longer.Entries()[5].Message.Text(), "what follows Upto stays")
	_ = append(longer.Entries(), domain.Entry{})
	_ = append(longer.From(2), domain.Entry{})
	require.Equal(t, "six", appended(longer, "six").Entries()[8].Message.Text())
}

// TestLogForksConcurrently appends to one value from many goroutines while
// others read it; the race detector watches.
func TestLogForksConcurrently(t *testing.T) {
	t.Parallel()
	log := logOf("a", "b", "c")
	results := make([]domain.Log, 16)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			fork := log
			for k := range 50 {
				fork = appended(fork, strconv.Itoa(i*1000+k))
			}
			results[i] = fork
			_ = textsOf(log.Entries())
		})
	}
	all.Wait()
	for i, result := range results {
		require.Equal(t, 53, result.Len())
		for k, e := range result.From(3) {
			require.Equal(t, strconv.Itoa(i*1000+k), e.Message.Text())
			require.Equal(t, k+3, e.Index)
		}
	}
	require.Equal(t, []string{"a", "b", "c"}, textsOf(log.Entries()))
}

func drawnLog(t *rapid.T, name string) domain.Log {
	log := domain.LogAt(rapid.IntRange(0, 3).Draw(t, name+" base"), domain.Digest{})
	for _, text := range rapid.SliceOfN(rapid.StringMatching(`[ab]{0,2}`), 0, 12).Draw(t, name) {
		log = log.Append(rapid.SampledFrom([]string{"", "messages", "summary"}).Draw(t, name+" section"),
			domain.UserMessage(text), domain.DigestOf([]byte(text)))
	}
	return log
}

// copyOf makes the two kinds of no entries one.
func copyOf(entries []domain.Entry) []domain.Entry { return append([]domain.Entry{}, entries...) }

type chained struct {
	section string
	digest  domain.Digest
}

func chainOf(log domain.Log) []chained {
	entries := []chained{}
	for _, e := range log.Entries() {
		entries = append(entries, chained{e.Section, e.Digest})
	}
	return entries
}

// TestLogChainLaw: two logs that began alike have one chain exactly where they
// have the same entries.
func TestLogChainLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawnLog(t, "a"), drawnLog(t, "b")
		same := len(a.Entries()) == len(b.Entries())
		for i := 0; same && i < len(a.Entries()); i++ {
			same = chainOf(a)[i] == chainOf(b)[i]
		}
		require.Equal(t, same, a.Chain() == b.Chain())
		require.Equal(t, same && a.Base() == b.Base(), a.Ref() == b.Ref())
	})
}

// TestLogPartLaws: any part that is taken out of a log and joined again gives
// the same log.
func TestLogPartLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := drawnLog(t, "log")
		n := rapid.IntRange(log.Base(), log.Len()).Draw(t, "n")
		head, ok := log.Upto(n)
		require.True(t, ok)
		require.Equal(t, n, head.Len())
		chain, ok := log.ChainAt(n)
		require.True(t, ok)
		require.Equal(t, chain, head.Chain())
		joined, err := head.Join(log.From(n)...)
		require.NoError(t, err)
		require.Equal(t, log.Ref(), joined.Ref())
		require.Equal(t, copyOf(log.Entries()), copyOf(joined.Entries()))
		tail, err := domain.LogAt(n, chain).Join(log.From(n)...)
		require.NoError(t, err)
		require.Equal(t, log.Ref(), tail.Ref(), "a log that forgot its head names the same content")
		require.Equal(t, copyOf(log.From(n)), copyOf(tail.Entries()))
		for i := log.Base(); i < log.Len(); i++ {
			e, ok := log.At(i)
			require.True(t, ok)
			require.Equal(t, i, e.Index)
		}
		for _, outside := range []int{log.Base() - 1, log.Len() + 1} {
			_, ok := log.Upto(outside)
			require.False(t, ok)
			_, ok = log.ChainAt(outside)
			require.False(t, ok)
		}
		_, ok = log.At(log.Len())
		require.False(t, ok)
		if n < log.Len() {
			_, err = log.Join(log.From(n)...)
			require.ErrorContains(t, err, "transcript: message "+strconv.Itoa(n)+" follows message")
		}
	})
}

// BenchmarkLogAppend grows one log: the cost of an entry does not grow with it.
func BenchmarkLogAppend(b *testing.B) {
	b.ReportAllocs()
	m, digest := domain.UserMessage("text"), domain.DigestOf([]byte("text"))
	var log domain.Log
	for b.Loop() {
		log = log.Append("", m, digest)
	}
}
