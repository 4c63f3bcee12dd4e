package client

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestStepDifferences names what is not the same, in the order in which it came to be.
func TestStepDifferences(t *testing.T) {
	t.Parallel()
	step := func(text, argument, value string, read int64) lineStep {
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
		return lineStep{step: &s, prompt: new("go")}
	}
	a := step("hi", "{}", "found", 5)
	require.Empty(t, stepDifferences(a, a))
	require.Equal(t, []FieldDifference{
		{"text", "hi", "ho"}, {"call 1", "look {}", `look {"x":1}`}, {"result 1", "found", "error timeout: late"},
		{"usage", "5 tokens read, 0 written", "6 tokens read, 0 written"},
	}, stepDifferences(a, step("ho", `{"x":1}`, "", 6)))
	other := a
	other.prompt = new("go on")
	require.Equal(t, []FieldDifference{{"prompt", "go", "go on"}}, stepDifferences(a, other))
	other.prompt = nil
	require.Empty(t, stepDifferences(a, other), "a prompt that nobody has any more is not told as another")
	require.Equal(t, []FieldDifference{{"call 1", "look {}", ""}, {"result 1", "found", ""}}, stepDifferences(a, step("hi", "", "", 5)))
}

// TestThePromptOfAStep is what people have said since the one before, where all of that is there.
func TestThePromptOfAStep(t *testing.T) {
	t.Parallel()
	said := func(index int, role domain.Role, text string) domain.Entry {
		return domain.Entry{Index: index, Message: domain.Message{Role: role, Parts: []domain.Part{{Type: domain.PartText, Text: text}}}}
	}
	messages := []domain.Entry{said(4, domain.RoleUser, "go"), said(5, domain.RoleAssistant, "looking"), said(6, domain.RoleUser, "faster"), said(7, domain.RoleUser, "please")}
	require.Equal(t, new("go"), promptIn(messages, 4, 5))
	require.Equal(t, new("faster\nplease"), promptIn(messages, 5, 8))
	require.Equal(t, new(""), promptIn(messages, 5, 6))
	require.Nil(t, promptIn(messages[1:], 4, 5))
}

// TestOriginSteps: the oldest origin's come first.
func TestOriginSteps(t *testing.T) {
	t.Parallel()
	line, err := originSteps(nora.id, nil)
	require.NoError(t, err)
	require.Empty(t, line)
	other := domain.AgentID{UUID: uuid.New()}
	line, err = originSteps(nora.id, &domain.Origin{ExecutionID: nth(2), Step: 1, Origin: &domain.Origin{ExecutionID: nth(1), Step: 2, AgentID: other}})
	require.NoError(t, err)
	require.Equal(t, []lineStep{{StepPlace: StepPlace{nth(1), 1}, agent: other}, {StepPlace: StepPlace{nth(1), 2}, agent: other}, {StepPlace: StepPlace{nth(2), 1}, agent: nora.id}}, line)
}

// TestOriginsThatOneAgentDoesNotShareAreLeftOut: of two executions of a session the one that was rewound is compared from its own
// first step with the other's own first.
func TestOriginsThatOneAgentDoesNotShareAreLeftOut(t *testing.T) {
	t.Parallel()
	other := domain.AgentID{UUID: uuid.New()}
	line := func(agent domain.AgentID, places ...StepPlace) (line []lineStep) {
		for _, place := range places {
			line = append(line, lineStep{StepPlace: place, agent: agent})
		}
		return line
	}
	rewound := line(nora.id, StepPlace{nth(1), 1}, StepPlace{nth(1), 2}, StepPlace{nth(3), 1})
	side := DiffSide{Execution: Execution{AgentID: nora.id}}
	for name, c := range map[string]struct {
		a       []lineStep
		agent   domain.AgentID
		left    int
		because string
	}{
		"the one before":  {line(nora.id, StepPlace{nth(2), 1}), nora.id, 2, "neither has a step of the other's"},
		"its origin":      {line(nora.id, StepPlace{nth(1), 1}, StepPlace{nth(1), 2}), nora.id, 0, "they have its steps in common"},
		"another agent's": {line(other, StepPlace{nth(2), 1}), other, 0, "it may have done the same from the beginning on"},
	} {
		a := DiffSide{Execution: Execution{AgentID: c.agent}}
		b := side
		b.Before = 2
		gotA, gotB := ownAlone(c.a, rewound, &a, &b)
		require.Equal(t, c.a, gotA, name)
		require.Equal(t, rewound[c.left:], gotB, "%s: %s", name, c.because)
		require.Equal(t, 2-c.left, b.Before, name)
	}
}

// TestOriginsOfTooManyStepsAreRefused, before a place is made for any.
func TestOriginsOfTooManyStepsAreRefused(t *testing.T) {
	t.Parallel()
	for _, step := range []int{-1, 1_000_000, domain.MaxCount, 9e18} {
		_, err := originSteps(nora.id, &domain.Origin{ExecutionID: nth(2), Step: 1, Origin: &domain.Origin{ExecutionID: nth(1), Step: step}})
		require.ErrorContains(t, err, "step", "%d", step)
	}
}

func TestErrorsOfADiffWithoutCodes(t *testing.T) {
	t.Parallel()
	require.Equal(t, "invalid: no turn\ntimeout timed_out: late\n", errorText([]domain.Error{
		{Kind: domain.Invalid, Message: "no turn"}, {Kind: "timeout", Code: "timed_out", Message: "late"},
	}))
}
