package render

import (
	"strings"
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

	var out strings.Builder
	view := NewView(Plain(&out), "notes", "")
	view.Show(client.Event{Type: domain.EventToolCallStarted, Step: 2, Position: 1, Tool: "index", Arguments: "{}"})
	view.Show(client.Event{Type: client.EventToolProgress, Step: 2, Position: 1, Tool: "index", Text: "3 of\n9"})
	require.Equal(t, "step 2: calls index {}\nstep 2: -- index: 3 of 9\n", out.String())
}
