package whole_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	agents "everstep/starter/client"
	"everstep/worker/host"
)

const ordersScript = `
turns:
  - tool_calls: [{name: pay, arguments: {order: 7}}, {name: pay, arguments: {order: 8}}]
  - tool_calls: [{name: pay, arguments: {order: 7}}]
  - text: it was paid
`

// endsUnresolved runs an agent without a name to its limit, which leaves two calls unresolved.
func (s *stack) endsUnresolved(t *testing.T) (id string, calls []domain.Wait) {
	t.Helper()
	id = uuid.NewString()
	begun := s.starts(t, agents.Start{
		ID: id, Prompt: "go", Definition: scripted(writeScript(t, ordersScript), "pay"), Budget: steps(1),
	})
	s.ended(t, begun)
	calls = s.unresolvedOf(t, id)
	asked := s.steps(t, id, 1)[0].Step.ToolExecutions
	slices.SortFunc(calls, func(a, b domain.Wait) int { // two calls at once are lost in any order
		place := func(call domain.Wait) int {
			return slices.IndexFunc(asked, func(c domain.ToolExecution) bool { return c.ID == call.ToolExecutionID })
		}
		return cmp.Compare(place(a), place(b))
	})
	return id, calls
}

func (s *stack) unresolvedOf(t *testing.T, id string) []domain.Wait {
	t.Helper()
	status := s.status(t, id)
	return status.Waits
}

var receipt = agents.ResolveOptions{Verdict: domain.VerdictDone, Result: "receipt 4711", Reason: "it is in the journal"}

func resolving(call domain.Wait, o agents.ResolveOptions) agents.ResolveOptions {
	o.Call = call.ToolExecutionID.String()
	return o
}

// TestACallIsResolvedAfterTheEnd: of the execution all is told as before; what goes on from it knows, and nothing is paid
// twice.
func TestACallIsResolvedAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{payment()}})
	id, calls := s.endsUnresolved(t)
	require.Len(t, calls, 2)
	told := func() []any {
		result := s.result(t, id, 1)
		return []any{
			result, s.steps(t, id, 1), s.messages(t, id),
			collect(t, s.agents.Events(within(t), id, agents.FollowOptions{Number: 1})), collect(t, s.agents.Follow(within(t), id, agents.FollowOptions{Number: 1})),
		}
	}
	before := told()
	resolved := s.resolves(t, id, resolving(calls[0], receipt))
	require.Equal(t, 1, resolved.UnknownOutcomes)
	again := s.resolves(t, id, resolving(calls[0], receipt))
	require.Equal(t, resolved, again, "the same words twice are one")
	require.Equal(t, before, told())
	require.Equal(t, calls[1:], s.unresolvedOf(t, id))
	require.Equal(t, []domain.Wait{resolved.Wait.Recorded()}, s.explained(t, id).Steps[0].Tools[0].Waits)
	require.Eventually(t, func() bool {
		for _, listed := range collect(t, s.agents.List(within(t), agents.ListOptions{Unknown: true})) {
			if listed.ID == id {
				return listed.Unknown == 1 && listed.Status == domain.StatusStopped && !listed.Open
			}
		}
		return false
	}, patience, 50*time.Millisecond)
	second := s.extends(t, id, agents.ExtendOptions{Budget: steps(9)})
	s.ended(t, second.Execution)
	result := s.result(t, id, 2)
	require.Equal(t, "it was paid", result.Answer)
	blocked := s.steps(t, id, 2)[0].Step.ToolExecutions[0]
	require.Contains(t, blocked.Error.Message, "receipt 4711", "it is not paid again")
	require.Equal(t, before[:2], told()[:2], "its result and its steps")
}
