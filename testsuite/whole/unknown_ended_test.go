package whole_test

import (
	"cmp"
	"slices"
	"sync"
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
	s.answers(t, agents.Start{ID: id, Definition: scripted(writeScript(t, ordersScript), "pay"), Budget: steps(1)})
	calls = s.status(t, id).Waits
	asked := s.steps(t, id, 1)[0].Step.ToolExecutions
	slices.SortFunc(calls, func(a, b domain.Wait) int { // two calls at once are lost in any order
		place := func(call domain.Wait) int {
			return slices.IndexFunc(asked, func(c domain.ToolExecution) bool { return c.ID == call.ToolExecutionID })
		}
		return cmp.Compare(place(a), place(b))
	})
	return id, calls
}

var receipt = agents.ResolveOptions{Verdict: domain.VerdictDone, Result: "receipt 4711", Reason: "it is in the journal"}

func resolving(call domain.Wait, o agents.ResolveOptions) agents.ResolveOptions {
	o.Call = call.ToolExecutionID.String()
	return o
}

// resolves says that a call was done.
func (s *stack) resolves(t *testing.T, id string, call domain.Wait) agents.Resolution {
	t.Helper()
	resolved, err := s.agents.Resolve(within(t), id, resolving(call, receipt))
	require.NoError(t, err)
	return resolved
}

// TestACallIsResolvedAfterTheEnd: of the execution all is told as before; what goes on from it knows, and nothing is paid
// twice.
func TestACallIsResolvedAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{payment()}})
	id, calls := s.endsUnresolved(t)
	require.Len(t, calls, 2)
	told := func() []any {
		return []any{
			s.result(t, id, 1), s.steps(t, id, 1), s.messages(t, id),
			collect(t, s.agents.Events(within(t), id, agents.FollowOptions{Number: 1})), collect(t, s.agents.Follow(within(t), id, agents.FollowOptions{Number: 1})),
		}
	}
	before := told()
	resolved := s.resolves(t, id, calls[0])
	require.Equal(t, 1, resolved.UnknownOutcomes)
	require.Equal(t, resolved, s.resolves(t, id, calls[0]), "the same words twice are one")
	require.Equal(t, before, told())
	require.Equal(t, calls[1:], s.status(t, id).Waits)
	require.Equal(t, []domain.Wait{resolved.Wait.Recorded()}, s.explained(t, id).Steps[0].Tools[0].Waits)
	require.Eventually(t, func() bool {
		for _, listed := range collect(t, s.agents.List(within(t), agents.ListOptions{Unknown: true})) {
			if listed.ID == id {
				return listed.Unknown == 1 && listed.Status == domain.StatusStopped && !listed.Open
			}
		}
		return false
	}, patience, 50*time.Millisecond)
	s.ended(t, s.extends(t, id, agents.ExtendOptions{Budget: steps(9)}).Execution)
	require.Equal(t, "it was paid", s.result(t, id, 2).Answer)
	blocked := s.steps(t, id, 2)[0].Step.ToolExecutions[0]
	require.Contains(t, blocked.Error.Message, "receipt 4711", "it is not paid again")
	require.Equal(t, before[:2], told()[:2], "its result and its steps")
}

// TestResolvingAtOnce: what several people say at the same time is all kept, each of it once, also where the agent goes on
// just then.
func TestResolvingAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{payment()}})
	id, calls := s.endsUnresolved(t)
	errs := make([]error, 3)
	var all sync.WaitGroup
	for i, o := range []agents.ResolveOptions{
		resolving(calls[0], receipt), resolving(calls[0], agents.ResolveOptions{Verdict: domain.VerdictNotDone, Reason: "no"}), resolving(calls[1], receipt),
	} {
		all.Go(func() { _, errs[i] = s.agents.Resolve(within(t), id, o) })
	}
	var second agents.Extended
	var err error
	all.Go(func() { second, err = s.agents.Extend(within(t), id, agents.ExtendOptions{Budget: steps(9)}) })
	all.Wait()
	require.NoError(t, err)
	require.Equal(t, 2, second.Number)
	require.NoError(t, errs[2])
	require.True(t, (errs[0] == nil) != (errs[1] == nil), "%v, %v", errs[0], errs[1])
	require.ErrorIs(t, cmp.Or(errs[0], errs[1]), &agents.Error{Class: agents.Refused})
	require.ErrorContains(t, cmp.Or(errs[0], errs[1]), "was resolved as")
	s.ended(t, second.Execution)
	for _, call := range s.status(t, id).Waits {
		require.Equal(t, 2, call.Execution, "what was not done is paid again")
	}
}

// TestAResolutionOutlivesTheRunThatEnded: what the resolving run has taken along is there when the retention of the
// run before has passed; when its own has, nothing is left to resolve.
func TestAResolutionOutlivesTheRunThatEnded(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{payment()}})
	id, calls := s.endsUnresolved(t)
	first := s.status(t, id)
	s.resolves(t, id, calls[0])
	messages := s.messages(t, id)
	s.forgetsRun(t, id, first.Run.ID)

	status := s.status(t, id)
	require.Equal(t, calls[1:], status.Waits)
	require.Equal(t, first.ExecutionID, status.ExecutionID)
	require.Equal(t, messages, s.messages(t, id))
	s.resolves(t, id, calls[1])
	s.ended(t, s.extends(t, id, agents.ExtendOptions{Budget: steps(9)}).Execution)
	require.Empty(t, s.status(t, id).Waits)

	gone, calls := s.endsUnresolved(t)
	s.forgetsRun(t, gone, s.status(t, gone).Run.ID)
	_, err := s.agents.Resolve(within(t), gone, resolving(calls[0], receipt))
	require.ErrorIs(t, err, &agents.Error{Class: agents.NotFound})
}
