package whole_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
)

// used is what executions of a session have used, by their own steps.
func (s *stack) used(t *testing.T, id string, executions int) (sum domain.Spent) {
	t.Helper()
	for n := 1; n <= executions; n++ {
		for _, step := range s.steps(t, id, n) {
			sum = sum.Add(step.Step.Spent())
		}
	}
	return sum
}

// TestASessionsBudgetOnAServer bounds a session whose worker is killed in the middle of it, whose runs continue as new,
// and which is extended: each execution tells what all have used, a history tells it where no worker does, and nothing
// begins with nothing left.
func TestASessionsBudgetOnAServer(t *testing.T) {
	t.Parallel()
	s, dir := connect(t, "continuing", continuing), t.TempDir()
	id := s.named("budgeted")
	worker := s.process(t, recordsWorker, dir)
	definition := scripted(writeScript(t, `
turns:
  - {text: one, tool_calls: [{name: echo, arguments: {}}], usage: {input_tokens: 10, output_tokens: 5}}
  - {text: two, usage: {input_tokens: 10, output_tokens: 5}}
  - {text: three, tool_calls: [{name: echo, arguments: {}}], usage: {input_tokens: 10, output_tokens: 5}}
  - {text: 'four five six seven eight nine ten', delay: 3s, usage: {input_tokens: 10, output_tokens: 5}}
  - {text: five, tool_calls: [{name: echo, arguments: {}}], usage: {input_tokens: 10, output_tokens: 5}}
  - {text: six, tool_calls: [{name: echo, arguments: {}}], usage: {input_tokens: 10, output_tokens: 5}}
  - {text: seven, tool_calls: [{name: echo, arguments: {}}], usage: {input_tokens: 10, output_tokens: 5}}
  - {text: eight, usage: {input_tokens: 10, output_tokens: 5}}
`), "echo")
	definition.SessionBudget = domain.ExecutionBudget{MaxSteps: new(int64(5)), MaxToolCalls: new(int64(50))}
	begun := s.starts(t, client.Start{ID: id, Prompt: "go", Definition: definition})
	s.ended(t, begun)

	// The worker is killed while the second execution has its model answer.
	second := s.sent(t, id, client.SendOptions{Prompt: "more"})
	require.Eventually(t, func() bool {
		status, err := s.agents.Status(within(t), id)
		return err == nil && status.Number == 2 && status.Steps == 1
	}, patience, 20*time.Millisecond)
	worker.Kill()
	dead := s.status(t, id)
	require.NotEqual(t, "workflow", string(dead.Server.Source))
	require.Equal(t, int64(5), *dead.Ledger.Session.Limit.MaxSteps)
	require.LessOrEqual(t, *dead.Ledger.Session.Left.MaxSteps, int64(2), "history tells what is left")
	worker = s.process(t, recordsWorker, dir)
	s.ended(t, second)

	third := s.sent(t, id, client.SendOptions{Prompt: "more"})
	result := s.result(t, id, third.Number)
	require.Equal(t, domain.StepsLimitReached, result.Outcome.StopReason)
	require.True(t, result.Outcome.SessionLimit)
	require.Contains(t, result.Signal.Message, "the session's max_steps is 5 and 5 are done")
	require.Equal(t, s.used(t, id, 3), *result.Outcome.SessionSpent)
	_, err := s.agents.Send(within(t), id, client.SendOptions{Prompt: "more"})
	require.ErrorIs(t, err, &client.Error{Class: client.Refused})
	require.ErrorContains(t, err, "`extend "+id+" --session --max-steps TOTAL`")
	for range 2 { // a repeat does no harm
		extended, err := s.agents.ExtendSession(within(t), id, client.ExtendOptions{Budget: steps(8)})
		require.NoError(t, err)
		require.Equal(t, []any{3, false, false, int64(8), int64(3)}, []any{extended.Number, extended.Began, extended.InProgress, *extended.Budget.MaxSteps, *extended.Left.MaxSteps})
	}
	worker.Kill()
	idle := s.status(t, id)
	require.Equal(t, []int64{8, 3}, []int64{*idle.Ledger.Session.Limit.MaxSteps, *idle.Ledger.Session.Left.MaxSteps}, "history tells that it was extended")
	s.process(t, recordsWorker, dir)
	fourth := s.extends(t, id, client.ExtendOptions{})
	require.True(t, fourth.Began)
	last := s.completed(t, id, fourth.Number)
	require.Equal(t, int64(8), last.Outcome.SessionSpent.Steps)
	require.Equal(t, s.used(t, id, 4), *last.Outcome.SessionSpent)
}
