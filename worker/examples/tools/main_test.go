package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/testsuite"
)

// TestBuying runs the real tools under a model that plays a script: no server,
// no key.
func TestBuying(t *testing.T) {
	t.Parallel()
	b := newBank()
	env := testsuite.New(t, testsuite.Config{
		Tools: config(b).Tools,
		Script: `
turns:
  - tool_calls: [{name: price, arguments: {name: lamp}}, {name: price, arguments: {name: moon}}]
  - tool_calls: [{name: pay, arguments: {cents: 4200}}]
  - tool_calls: [{name: ship, arguments: {name: lamp}}]
  - text: '{{ result "ship" }}; {{ result "pay" }}.'
`,
	})
	run := env.Run("Buy a lamp, and the moon.")
	require.Equal(t, domain.StatusCompleted, run.Outcome.Status)
	require.Equal(t, "a lamp is on its way; paid 4200 cents.", run.Answer)
	require.Contains(t, run.Transcript(), "there is no such article")

	calls := run.ToolExecutions()
	require.Equal(t, map[string]int{calls[2].ID.String(): 4200}, b.paid, "once, under the call's id")
}

// TestVerify: the bank says what became of a payment, and one that it has not seen is never made.
func TestVerify(t *testing.T) {
	t.Parallel()
	b := newBank()
	seen := tool.WithExecution(t.Context(), tool.Call{Key: "seen"})
	_, err := b.pay(seen, payment{Cents: 4200})
	require.NoError(t, err)
	found, err := b.verify(seen, payment{})
	require.NoError(t, err)
	require.Equal(t, domain.VerdictDone, found.Verdict())
	require.Equal(t, "paid 4200 cents", found.Result())

	late := tool.WithExecution(t.Context(), tool.Call{Key: "late"})
	found, err = b.verify(late, payment{})
	require.NoError(t, err)
	require.Equal(t, domain.VerdictNotDone, found.Verdict())
	_, err = b.pay(late, payment{Cents: 4200})
	require.ErrorContains(t, err, "void")
	require.Len(t, b.paid, 1)
}
