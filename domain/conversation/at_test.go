package conversation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/conversation"
)

// TestAt: a conversation that is taken up at a point reckons as the one did that had come there by itself.
func TestAt(t *testing.T) {
	t.Parallel()
	for _, compiler := range []domain.Compiler{domain.CurrentTrace, domain.WholeConversation} {
		r := resolved(0, compiler)
		c := conversation.New(compiler).WithExecution(chain(1), false, nil)
		c = withCalls(say(c, 1, user(10), false), 1, 20, 30)
		c = say(c, 1, answer(12), false)
		at := conversation.At(c.Log(), c.Edits(), compiler, chain(1), 2)
		require.Equal(t, c.Input(r), at.Input(r))
		grown, taken := c.Carry(0, nil), at.Carry(0, nil)
		grown.Inferences = 2
		require.Equal(t, grown, taken)

		later := conversation.At(c.Log(), domain.Edits{Cleared: 3}, compiler, chain(2), 2)
		require.Less(t, later.Input(r), at.Input(r), "a result is shown by a note")
		hidden := conversation.At(c.Log(), domain.Edits{Hidden: 4}, compiler, chain(1), 2)
		require.EqualValues(t, 12, hidden.Input(r))
	}
	none := conversation.At(domain.Log{}, domain.Edits{}, "", chain(1), 0)
	require.Zero(t, none.Len())
}
