package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/testsuite"
)

// TestHooks: one call is blocked and the model reads why; what was used is
// reported, at the second try.
func TestHooks(t *testing.T) {
	t.Parallel()
	var reported []domain.Usage
	worker := config(func(_ context.Context, _ domain.ExecutionID, used domain.Usage) error {
		reported = append(reported, used)
		if len(reported) == 1 {
			return domain.Errorf(domain.Unavailable, "the other side does not answer")
		}
		return nil
	})
	env := testsuite.New(t, testsuite.Config{
		Definition: domain.Definition{Hooks: []string{"planets"}},
		Tools:      worker.Tools,
		Hooks:      worker.Hooks,
		Script: `
turns:
  - tool_calls: [{name: forecast, arguments: {name: Mars}}, {name: forecast, arguments: {name: Oslo}}]
    usage: {input_tokens: 100, output_tokens: 10}
  - text: 'It is {{ result "forecast" }}.'
    usage: {input_tokens: 150, output_tokens: 5}
`,
	})
	run := env.Run("How is the weather?")
	require.Equal(t, "It is sunny in Oslo.", run.Answer)
	require.Contains(t, run.Transcript(), "There are no forecasts for other planets.")
	require.Len(t, reported, 2)
	require.EqualValues(t, 250, reported[1].InputTokens)
}
