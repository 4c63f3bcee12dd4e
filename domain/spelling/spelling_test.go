package spelling

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"run", "start", "status", "stop", "steps", "send"}
	for word, want := range map[string]string{
		"staus": "status", "STATUS": "status", "stoo": "stop", "sen": "send", "runn": "run", "statusses": "", "x": "", "": "", "stip": "stop", "sned": "send", "skip": "",
		strings.Repeat("stop", 1000): "",
	} {
		got, ok := Nearest(word, known)
		require.Equal(t, want != "", ok, word)
		require.Equal(t, want, got, word)
	}
	got, ok := Nearest("desc", []string{"name", "description"})
	require.True(t, ok)
	require.Equal(t, "description", got)
	_, ok = Nearest("word", nil)
	require.False(t, ok)
}

func TestDistance(t *testing.T) {
	t.Parallel()
	require.Equal(t, 0, distance("same", "same"))
	require.Equal(t, 3, distance("kitten", "sitting"))
	require.Equal(t, distance("abc", "x"), distance("x", "abc"))
}
