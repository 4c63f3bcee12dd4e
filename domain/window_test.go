package domain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

// TestHooksSeeTheSameInAnyRun: wherever an execution went on in a new run, of its
// steps there is the same to see, and so are the totals of those that are gone.
func TestHooksSeeTheSameInAnyRun(t *testing.T) {
	t.Parallel()
	shown := func(w domain.StepWindow, s domain.AgentState) ([]domain.AgentStep, domain.Folded) {
		recent := w.Of(s).In(s)
		return recent.Steps(), recent.Execution.Folded
	}
	begun := begunState()
	rapid.Check(t, func(r *rapid.T) {
		one, many := begun, begun
		var window domain.StepWindow
		for number := range rapid.IntRange(1, 25).Draw(r, "steps") {
			step := toolStep(executionID(1), number+1)
			for range rapid.SampledFrom([]int{0, 0, 200}).Draw(r, "calls") {
				step.ToolExecutions = append(step.ToolExecutions, step.ToolExecutions[0])
			}
			if number%3 == 0 {
				step.Errors = append(step.Errors, domain.Error{Kind: domain.Internal, Message: strings.Repeat("e", 9_000)})
			}
			step.ToolExecutions[0].Value += strings.Repeat("x", rapid.SampledFrom([]int{0, 10, 5_000, 9_000, 30_000}).Draw(r, "length"))
			one, many = withStep(one, step), withStep(many, step)
			one, many = one.WithMessageStore(domain.MessageStore{}), many.WithMessageStore(domain.MessageStore{})
			if rapid.IntRange(0, 3).Draw(r, "in a new run") == 0 {
				recent := domain.StepWindow{}.Of(many).In(many)
				many = must(domain.DecodeAgentState([]byte(encoded(t, recent))))
			}
			window = window.Of(one)
			steps, folded := shown(window, one)
			require.LessOrEqual(t, len(steps), domain.RecentSteps)
			require.Equal(t, number+1, int(folded.Steps)+len(steps))
		}
		steps, folded := shown(window, one)
		again, foldedAgain := shown(domain.StepWindow{}, many)
		require.Equal(t, steps, again)
		require.Equal(t, folded, foldedAgain)
		require.Equal(t, one.ToolCounts(), many.ToolCounts())
		require.Equal(t, one.Spent(after(99)), many.Spent(after(99)))
		last, _ := one.LastStep()
		require.Equal(t, last, steps[len(steps)-1], "the last is whole")
	})
}

// TestAWindowCostsWhatItShows: of the steps before it there are totals alone, however long they are.
//
//nolint:paralleltest // allocations are counted of the whole program
func TestAWindowCostsWhatItShows(t *testing.T) {
	cost := func(steps int) float64 {
		s := begunState()
		for number := range steps {
			s = withStep(s, answerStep(executionID(1), number+1, strings.Repeat("x", 20_000))).WithMessageStore(domain.MessageStore{})
		}
		return testing.AllocsPerRun(2, func() { domain.StepWindow{}.Of(s) })
	}
	// Under the race detector pools forget at random, so that a few more are allocated.
	require.Less(t, cost(4*domain.RecentSteps), 2*cost(domain.RecentSteps))
}

func TestToolCounts(t *testing.T) {
	t.Parallel()
	require.Empty(t, idleState().ToolCounts())
	s := withStep(begunState(), toolStep(executionID(1), 1))
	s = withStep(s, toolStep(executionID(1), 2))
	want := map[string]domain.ToolCount{"read_file": {Ran: 2}, "write_file": {Ran: 2, Failed: 2}}
	require.Equal(t, want, s.ToolCounts(), "what was blocked was not run")
	require.Equal(t, want, s.WithStepsFolded(1).ToolCounts())
	s.WithStepsFolded(0).Execution.Folded.Tools["read_file"] = domain.ToolCount{}
	require.Equal(t, want, s.WithStepsFolded(0).ToolCounts())
}

// TestTheLastStepIsCutToFit beside those before it, which stay.
func TestTheLastStepIsCutToFit(t *testing.T) {
	t.Parallel()
	s := withStep(begunState(), toolStep(executionID(1), 1))
	s = withStep(s, answerStep(executionID(1), 2, strings.Repeat("x", 500_000))).WithMessageStore(domain.MessageStore{})
	require.Equal(t, s, s.WithLastStepWithin(1_000_000))
	cut := s.WithLastStepWithin(250_000)
	require.Equal(t, s.Steps()[0], cut.Steps()[0])
	require.Less(t, len(encoded(t, cut)), 250_000)
	require.Contains(t, cut.Answer(), "500000 bytes in all")
	require.Equal(t, idleState(), idleState().WithLastStepWithin(1))
}

// TestReasonsAreCutToFit: what people said of the calls of a step takes room beside it.
func TestReasonsAreCutToFit(t *testing.T) {
	t.Parallel()
	step := bigStep(256, "seen")
	for i := range step.ToolExecutions {
		step.ToolExecutions[i].Waits = []domain.Wait{
			{Kind: domain.WaitApproval, Answer: &domain.Answer{Verdict: domain.Approved, Reason: strings.Repeat("<", domain.MaxReason)}},
			{Kind: domain.WaitQuestion, Answer: &domain.Answer{Verdict: domain.AnsweredByPerson, Reason: strings.Repeat("r", domain.MaxReason)}},
		}
	}
	s := withStep(begunState(), step).WithMessageStore(domain.MessageStore{})
	require.Greater(t, len(encoded(t, s)), 5_000_000)
	cut := s.WithLastStepWithin(domain.MaxCarriedState)
	require.Less(t, len(encoded(t, cut)), domain.MaxCarriedState*3/2)
	last, _ := cut.LastStep()
	require.Len(t, last.ToolExecutions, 256)
	require.Contains(t, last.ToolExecutions[0].Wait(domain.WaitApproval).Answer.Reason, "[cut, ")
	require.Less(t, len(encoded(t, cut.WithoutSteps())), 5_000)
}
