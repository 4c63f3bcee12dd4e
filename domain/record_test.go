package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func TestFromExecutionRecord(t *testing.T) {
	t.Parallel()
	earlier := domain.Tag{ExecutionID: executionID(9)}.Apply(domain.UserMessage("of an earlier execution"))
	s := must(idleState().ForNextExecution(noon))
	s = must(domain.NewAgentState(s.AgentID, domain.AgentID{}, noon, sampleConfig()).WithMessages("", []domain.Message{earlier}, noon))
	s = s.WithUserMessage(executionID(1).Prompt(), "What is in a.txt?", noon)
	s = must(s.BeginExecution(executionID(1), sampleBudget(), after(1)))
	s = withStep(s, toolStep(executionID(1), 1))
	s = withStep(s, answerStep(executionID(1), 2, "contents"))
	s = must(s.WithExecutionCompleted(after(4)))
	record := recordOf(s)
	for step, messages := range []int{1, 6, 7} {
		rewound, err := domain.FromExecutionRecord(record, step, after(9))
		require.NoError(t, err)
		require.Len(t, rewound.Messages(), messages, "after step %d", step)
		require.Equal(t, domain.StatusPending, rewound.Status())
		require.Equal(t, 1, rewound.ExecutionCount)
		require.Equal(t, &domain.Origin{ExecutionID: executionID(1), Step: step}, rewound.Origin)
		next := must(rewound.BeginExecution(executionID(2), domain.Unlimited(), after(10)))
		require.Equal(t, []domain.ExecutionID{executionID(2), executionID(1)}, next.Chain())
		require.Nil(t, next.Origin, "it is the execution's now")
	}
	final, err := domain.FromExecutionRecord(record, domain.FinalStep, after(9))
	require.NoError(t, err)
	require.Equal(t, "contents", final.Answer(), "still readable")
	next := must(final.BeginExecution(executionID(2), domain.Unlimited(), after(10)))
	again := must(next.WithExecutionCompleted(after(11)))
	third, err := domain.FromExecutionRecord(recordOf(again), 0, after(12))
	require.NoError(t, err)
	third = must(third.BeginExecution(executionID(3), domain.Unlimited(), after(13)))
	require.Equal(t, []domain.ExecutionID{executionID(3), executionID(2), executionID(1)}, third.Chain(), "the whole chain")
	for _, step := range []int{-2, 3} {
		_, err := domain.FromExecutionRecord(record, step, after(9))
		require.ErrorContains(t, err, "step: is")
	}
}

func TestDebug(t *testing.T) {
	t.Parallel()
	answered := withStep(begunState(), answerStep(executionID(1), 1, "x"))
	for name, c := range map[string]struct {
		state domain.AgentState
		words string
	}{
		"between":        {idleState(), "stops: there is no execution"},
		"begun":          {begunState(), "stops: no step has begun"},
		"asked tools":    {withStep(begunState(), toolStep(executionID(1), 1)), "goes on: the step asked for tools"},
		"answered":       {answered, "stops: the step asked for no tools"},
		"asked to stop":  {busyState(), "stops: user_requested, by cli"},
		"asked to go on": {must(answered.WithContinuationRequested(after(5))), "goes on: something asked for it"},
		"ended":          {endedState(), "ended: completed"},
		"failed":         {failedState(), "ended: error"},
	} {
		view := c.state.Debug(after(9))
		require.Equal(t, c.words, view.Continuation, name)
		require.Equal(t, c.state.Status(), view.Status, name)
		require.Len(t, view.Errors, len(c.state.Errors()), name)
		require.NotContains(t, encoded(t, view), "a.txt", "no message of the conversation")
	}
	require.Contains(t, failedState().Debug(after(9)).Errors, "internal hook_failed: the hook broke")
}
