package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	execution := executionID(1)
	clean := toolStep(execution, 1)
	clean.ToolExecutions = clean.ToolExecutions[:1]
	final := func(number int, text string) domain.AgentStep { return answerStep(execution, number, text) }
	broken := final(2, "half a sen")
	broken.Errors = []domain.Error{{Kind: domain.Unavailable, Code: domain.CodeInterrupted, Message: "cut"}}
	unanswered := final(2, "not yet")
	unanswered.Response = nil
	const looking = "Looking at <a.txt> & more…"
	for name, c := range map[string]struct {
		done    []domain.AgentStep
		current *domain.AgentStep
		final   string
		answer  string
	}{
		"nothing":                         {nil, nil, "", ""},
		"an answer":                       {[]domain.AgentStep{final(1, "done")}, nil, "done", "done"},
		"a newer answer":                  {[]domain.AgentStep{final(1, "one"), final(2, "two")}, nil, "two", "two"},
		"blank":                           {[]domain.AgentStep{final(1, " \n\t")}, nil, "", ""},
		"tools with text":                 {[]domain.AgentStep{clean}, nil, "", looking},
		"tools in progress":               {[]domain.AgentStep{final(1, "one")}, new(toolStep(execution, 2)), "", looking},
		"only one without response":       {nil, new(func() domain.AgentStep { s := unanswered; s.ID, s.Number = execution.Step(1), 1; return s }()), "", ""},
		"an answer that was cut off":      {[]domain.AgentStep{final(1, "one"), broken}, nil, "", "half a sen"},
		"an answer before one with tools": {[]domain.AgentStep{final(1, "one"), toolStep(execution, 2)}, nil, "", looking},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begunState()
			for _, step := range c.done {
				s = withStep(s, step)
			}
			if c.current != nil {
				s = must(s.WithStepStarted(c.current.ID, after(5)))
				s = must(s.WithCurrentStep(*c.current, after(5)))
			}
			output, ok := s.FinalResponse()
			require.Equal(t, c.final, domain.AnswerText(output))
			require.Equal(t, c.final != "", ok)
			require.Equal(t, ok, s.HasFinalResponse())
			output, ok = s.CurrentResponse()
			require.Equal(t, c.answer, domain.AnswerText(output))
			require.Equal(t, c.answer != "", ok)
			require.Equal(t, c.answer, s.Answer())
		})
	}
}

// TestAnswerOfAnEarlierExecution is never reported for a later one.
func TestAnswerOfAnEarlierExecution(t *testing.T) {
	t.Parallel()
	s := endedState()
	require.Equal(t, "It holds contents.", s.Answer())
	s = must(s.BeginExecution(executionID(2), domain.Unlimited(), after(9)))
	require.Empty(t, s.Answer())
	require.False(t, s.HasFinalResponse())
}

func TestStepType(t *testing.T) {
	t.Parallel()
	tools := toolStep(executionID(1), 1)
	clean := tools
	clean.ToolExecutions = tools.ToolExecutions[:1]
	failed := answerStep(executionID(1), 1, "x")
	failed.Errors = []domain.Error{{Kind: domain.Internal}}
	require.Equal(t, domain.StepError, tools.Type(), "a blocked call is an error")
	require.Equal(t, domain.StepToolExecution, clean.Type())
	require.Equal(t, domain.StepError, failed.Type())
	require.Equal(t, domain.StepFinalResponse, answerStep(executionID(1), 1, "x").Type())
	require.Equal(t, domain.StepFinalResponse, domain.AgentStep{}.Type())
}

func TestStepToolCalls(t *testing.T) {
	t.Parallel()
	step := toolStep(executionID(1), 1)
	notRun := step.ToolExecutions[0]
	notRun.Error = &domain.Error{Kind: domain.Denied, Code: domain.CodeNotRun}
	step.ToolExecutions = append(step.ToolExecutions, notRun)
	require.Equal(t, step.Output[0].ToolCalls, step.RequestedToolCalls())
	require.Equal(t, []domain.ToolCall{step.Output[0].ToolCalls[0], step.Output[0].ToolCalls[2]}, step.ExecutedToolCalls(),
		"the blocked and the one never begun were not run; the unknown one may have been")
	require.Len(t, step.AllErrors(), 3)
	finish, ok := step.FinishReason()
	require.True(t, ok)
	require.Equal(t, domain.FinishToolCalls, finish)
	_, ok = domain.AgentStep{}.FinishReason()
	require.False(t, ok)
}

func TestToolOutcome(t *testing.T) {
	t.Parallel()
	began, ended := after(1), after(2)
	code := func(c domain.Code) *domain.Error { return &domain.Error{Kind: domain.Denied, Code: c} }
	for name, c := range map[string]struct {
		call domain.ToolExecution
		want domain.ToolOutcome
	}{
		"not begun so far":         {domain.ToolExecution{}, domain.ToolNotRun},
		"an error":                 {domain.ToolExecution{StartedAt: began, CompletedAt: ended, Error: code("")}, domain.ToolFailed},
		"blocked":                  {domain.ToolExecution{CompletedAt: ended, Error: code(domain.CodeBlocked)}, domain.ToolBlocked},
		"it says it was blocked":   {domain.ToolExecution{StartedAt: began, CompletedAt: ended, Error: code(domain.CodeBlocked)}, domain.ToolFailed},
		"surely did nothing":       {domain.ToolExecution{StartedAt: began, CompletedAt: ended, Error: code(domain.CodeQuota), NotStarted: true}, domain.ToolNotRun},
		"a hook has made a result": {domain.ToolExecution{StartedAt: began, CompletedAt: ended, Value: "x", NotStarted: true}, domain.ToolNotRun},
		"unknown":                  {domain.ToolExecution{StartedAt: began, CompletedAt: ended, Error: code(domain.CodeOutcomeUnknown)}, domain.ToolUnknown},
		"nobody knows the times":   {domain.ToolExecution{CompletedAt: ended, Value: "x"}, domain.ToolOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, c.call.Outcome())
			ran := c.want != domain.ToolBlocked && c.want != domain.ToolNotRun
			require.Equal(t, ran, c.call.Outcome().Ran())
			require.Equal(t, ran, len(domain.AgentStep{ToolExecutions: []domain.ToolExecution{c.call}}.ExecutedToolCalls()) == 1)
		})
	}
}
