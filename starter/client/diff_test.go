package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestStepDifferences names what is not the same, in the order in which it came to be.
func TestStepDifferences(t *testing.T) {
	t.Parallel()
	step := func(text, argument, value string, read int64) domain.AgentStep {
		m := domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: text}}}
		s := domain.AgentStep{Model: "m", Usage: domain.Usage{InputTokens: read}}
		if argument != "" {
			m.ToolCalls = []domain.ToolCall{{ID: "1", Name: "look", Arguments: argument}}
			s.ToolExecutions = []domain.ToolExecution{{Value: value}}
			if value == "" {
				s.ToolExecutions[0].Error = &domain.Error{Code: domain.CodeTimeout, Message: "late"}
			}
		}
		s.Output = []domain.Message{m}
		return s
	}
	a := step("hi", "{}", "found", 5)
	require.Empty(t, stepDifferences(a, a))
	require.Equal(t, []FieldDifference{
		{"text", "hi", "ho"}, {"call 1", "look {}", `look {"x":1}`}, {"result 1", "found", "error timeout: late"},
		{"usage", "5 tokens read, 0 written", "6 tokens read, 0 written"},
	}, stepDifferences(a, step("ho", `{"x":1}`, "", 6)))
	require.Equal(t, []FieldDifference{{"call 1", "look {}", ""}, {"result 1", "found", ""}}, stepDifferences(a, step("hi", "", "", 5)))
}

// TestOriginSteps: the oldest origin's come first.
func TestOriginSteps(t *testing.T) {
	t.Parallel()
	line, err := originSteps(nil)
	require.NoError(t, err)
	require.Empty(t, line)
	line, err = originSteps(&domain.Origin{ExecutionID: nth(2), Step: 1, Origin: &domain.Origin{ExecutionID: nth(1), Step: 2}})
	require.NoError(t, err)
	require.Equal(t, []lineStep{{StepPlace: StepPlace{nth(1), 1}}, {StepPlace: StepPlace{nth(1), 2}}, {StepPlace: StepPlace{nth(2), 1}}}, line)
}

// TestOriginsOfTooManyStepsAreRefused, before a place is made for any.
func TestOriginsOfTooManyStepsAreRefused(t *testing.T) {
	t.Parallel()
	for _, step := range []int{-1, 1_000_000, domain.MaxCount, 9e18} {
		_, err := originSteps(&domain.Origin{ExecutionID: nth(2), Step: 1, Origin: &domain.Origin{ExecutionID: nth(1), Step: step}})
		require.ErrorContains(t, err, "step", "%d", step)
	}
}

func TestErrorsOfADiffWithoutCodes(t *testing.T) {
	t.Parallel()
	require.Equal(t, "invalid: no turn\ntimeout timed_out: late\n", errorText([]domain.Error{
		{Kind: domain.Invalid, Message: "no turn"}, {Kind: "timeout", Code: "timed_out", Message: "late"},
	}))
}
