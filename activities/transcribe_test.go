package activities

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestLevelIsTheHighestThatFits: a byte more of the longest would not.
func TestLevelIsTheHighestThatFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOf(rapid.IntRange(0, 1000)).Draw(t, "lengths")
		room := rapid.IntRange(0, 10_000).Draw(t, "room")
		most := level(lengths, room)
		require.LessOrEqual(t, total(lengths, most), room)
		if total(lengths, 1000) > room {
			require.Greater(t, total(lengths, most+1), room)
		} else {
			require.Equal(t, total(lengths, 1000), total(lengths, most), "nothing has to be cut")
		}
	})
}

// TestMiddleCut: of a text that is too long its head and its tail stay, and what
// is said to be left out is what is left out.
func TestMiddleCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.SampledFrom([]string{"x", "é", "日本"}).Draw(t, "word"), rapid.IntRange(0, 1000).Draw(t, "times"))
		n := rapid.IntRange(0, 2000).Draw(t, "n")
		cut := middleCut(text, n)
		require.LessOrEqual(t, len(cut), n)
		require.True(t, utf8.ValidString(cut))
		if len(text) <= n {
			require.Equal(t, text, cut)
			return
		}
		head, note, found := strings.Cut(cut, "\n[… ")
		require.True(t, strings.HasPrefix(text, head) || !found)
		require.Equal(t, n >= 2*len(cutNote), found, "there has to be room for more than the note")
		if found {
			number, tail, _ := strings.Cut(note, " bytes are left out here …]\n")
			require.True(t, strings.HasSuffix(text, tail))
			require.Equal(t, strconv.Itoa(len(text)-len(head)-len(tail)), number)
		}
	})
}
