package mailbox

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestTheLastWordOfASubagentCounts, in whatever order its words come, how often each does, and whoever else speaks.
func TestTheLastWordOfASubagentCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := domain.ExecutionID{}.Step(1)
		var b below
		words, last := []contract.ChildWaits{}, map[domain.ToolExecutionID]bool{}
		for call := range 3 {
			b.heard = append(b.heard, contract.ChildWaits{ToolExecutionID: step.Tool(call)})
			n := rapid.IntRange(0, 4).Draw(t, "words")
			for i := range n {
				words = append(words, contract.ChildWaits{ToolExecutionID: step.Tool(call), Number: i + 1, Waits: i%2 == 0})
			}
			last[step.Tool(call)] = n%2 == 1
		}
		words = append(words, contract.ChildWaits{ToolExecutionID: step.Tool(9), Number: 1, Waits: true}) // of none under way
		words = append(words, words[rapid.IntRange(0, len(words)-1).Draw(t, "again")])
		for _, word := range rapid.Permutation(words).Draw(t, "order") {
			b.take(word)
		}
		require.Len(t, b.heard, 3)
		for _, one := range b.heard {
			require.Equal(t, last[one.ToolExecutionID], one.Waits)
		}
	})
}
