package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/worker/examples/internal/stack"
	"everstep/worker/host"
)

func TestMain(m *testing.M) { stack.Main(m) }

// TestTriage: an answer that is no verdict goes back to the model, the second
// one is the value.
func TestTriage(t *testing.T) {
	t.Parallel()
	model := stack.Script(t, `
turns:
  - json: {severity: urgent}
  - json: {severity: urgent, why: nobody can log in}
`)
	got, err := triage(t.Context(), stack.Start(t, host.Config{}), model, "The site is down.")
	require.NoError(t, err)
	require.Equal(t, verdict{Severity: "urgent", Why: "nobody can log in"}, got)
}
