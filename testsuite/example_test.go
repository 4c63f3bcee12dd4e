package testsuite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/testsuite"
)

// forecast is a tool as a program would have it.
func forecast() tool.Tool {
	type args struct {
		City string `json:"city" jsonschema:"where, as people call it"`
	}
	return tool.New("forecast", "Tells tomorrow's weather.", domain.ReadOnly, func(_ context.Context, a args) (string, error) {
		return "sunny in " + a.City, nil
	})
}

// TestExample is what a test of an agent looks like: a script, the real tools,
// and what came of it.
func TestExample(t *testing.T) {
	t.Parallel()
	env := testsuite.New(t, testsuite.Config{
		Definition: domain.Definition{SystemPrompt: "You answer in one sentence."},
		Tools:      []tool.Tool{forecast()},
		Script: `
turns:
  - text: I'll look.
    tool_calls: [{name: forecast, arguments: {city: Oslo}}]
  - text: 'Tomorrow it is {{ result "forecast" }}.'
`,
	})
	run := env.Run("What will the weather be?")
	require.Equal(t, domain.StatusCompleted, run.Outcome.Status)
	require.Equal(t, "Tomorrow it is sunny in Oslo.", run.Answer)
	require.Equal(t, []string{"forecast"}, run.Called())
	require.Equal(t, "You answer in one sentence.", run.Asked[0].System)
	require.Equal(t, `user: What will the weather be?
assistant: I'll look.
  forecast {"city":"Oslo"}
forecast: sunny in Oslo
assistant: Tomorrow it is sunny in Oslo.
`, run.Transcript())
}

// TestExampleFake puts a fake in the place of a tool that has effects. The model
// is told of its first failure and tries again.
func TestExampleFake(t *testing.T) {
	t.Parallel()
	fake := testsuite.NewFake(forecast().Spec(), testsuite.InTurn(
		testsuite.Fails(errors.New("no such city")),
		testsuite.Returns("rain"),
	))
	look := func(city string) []testsuite.Call {
		return []testsuite.Call{{Name: "forecast", Arguments: map[string]string{"city": city}}}
	}
	env := testsuite.New(t, testsuite.Config{
		Tools: []tool.Tool{fake.Tool()},
		Turns: []testsuite.Turn{
			{Calls: look("Osla")},
			{Calls: look("Oslo")},
			{Text: `It will {{ result "forecast" }}.`},
		},
	})
	run := env.Run("What will the weather be?")
	require.Equal(t, "It will rain.", run.Answer)
	require.Len(t, fake.Calls(), 2)
	require.JSONEq(t, `{"city": "Oslo"}`, fake.Calls()[1].Arguments)
	require.True(t, run.ToolExecutions()[0].HasError())
}

// TestExampleStop stops an agent in the middle of an answer that takes ten minutes.
// What had come of it is kept; the test itself takes milliseconds.
func TestExampleStop(t *testing.T) {
	t.Parallel()
	env := testsuite.New(t, testsuite.Config{
		Turns: []testsuite.Turn{{Text: "One two three four five six.", Delay: 10 * time.Minute}},
	})
	run := env.Run("Count.", testsuite.StopAt(5*time.Minute, contract.StopNow))
	require.Equal(t, domain.StatusStopped, run.Outcome.Status)
	require.Equal(t, domain.UserRequested, run.Outcome.StopReason)
	require.Contains(t, run.Answer, "One two")
	require.NotContains(t, run.Answer, "six")
}

// TestExampleSession talks to a session twice, a day apart.
func TestExampleSession(t *testing.T) {
	t.Parallel()
	env := testsuite.New(t, testsuite.Config{
		Turns: []testsuite.Turn{{Text: "Hello."}, {Text: `You said "{{ prompt }}".`}},
	})
	run := env.Run("Hi!", testsuite.SendAt(24*time.Hour, "Are you still there?"))
	var answers []string
	for _, execution := range run.Executions {
		answers = append(answers, fmt.Sprintf("%d: %s", execution.Outcome.Number, execution.Answer))
	}
	require.Equal(t, []string{"1: Hello.", `2: You said "Are you still there?".`}, answers)
}
