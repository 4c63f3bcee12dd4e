package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// TestCallInManyPieces: the arguments are not gone over anew for each of their
// pieces. That would take hours here.
func TestCallInManyPieces(t *testing.T) {
	t.Parallel()
	const pieces = 1 << 20
	for name, head := range map[string]wire.Piece{
		"with an index": {Index: 0, ID: "call_1", Name: "write"},
		"with an id":    {Index: wire.NoIndex, ID: "call_1", Name: "write"},
		"with neither":  {Index: wire.NoIndex, Name: "write"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draft, next := &wire.Draft{}, head
			next.Name = ""
			head.Arguments = `{"text":"`
			draft.Call(head)
			for range pieces {
				next.Arguments = "word "
				draft.Call(next)
			}
			next.Arguments = `"}`
			draft.Call(next)
			require.Equal(t, []domain.ToolCall{{ID: head.ID, Name: "write", Arguments: `{"text":"` + strings.Repeat("word ", pieces) + `"}`}}, draft.Calls())
		})
	}
}
