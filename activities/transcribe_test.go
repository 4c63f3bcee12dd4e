package activities

import (
	"testing"

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
