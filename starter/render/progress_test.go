package render

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
)

// TestProgressIsShown: what a tool tells of itself stands with its call, and steers no terminal.
func TestProgressIsShown(t *testing.T) {
	t.Parallel()
	v := account.Status{Progress: []contract.Progress{{Tool: "index", Text: "3 of 9\x1b[2J"}}}
	require.Contains(t, StatusText(noTheme(), "notes", v, testNow), "index: 3 of 9")
	require.NotContains(t, StatusText(noTheme(), "notes", v, testNow), "\x1b[2J")

	s := newStory("notes", "")
	s.Tell(client.Event{Type: domain.EventToolCallStarted, Step: 2, Position: 1, Tool: "index", Arguments: "{}"})
	lines := s.Tell(client.Event{Type: client.EventToolProgress, Step: 2, Position: 1, Tool: "index", Text: "3 of\n9"})
	require.Len(t, lines, 1)
	require.Equal(t, 2, lines[0].step)
	require.NotContains(t, lines[0].text, "\n")
}
