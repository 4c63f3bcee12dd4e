package whole_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	agents "everstep/starter/client"
	"everstep/worker/host"
)

type order struct {
	Order int    `json:"order"`
	Note  string `json:"note,omitzero"`
}

// payment is a tool that never knows whether it has paid.
func payment() tool.Tool {
	return tool.New("pay", "Pays.", domain.AtMostOnce, func(context.Context, order) (string, error) {
		return "", tool.OutcomeUnknown(errors.New("the line broke"))
	}, tool.EffectKey("order"))
}

const paymentScript = `
turns:
  - tool_calls: [{name: pay, arguments: {order: 7}}]
  - tool_calls: [{name: pay, arguments: {order: 7, note: please}}]
  - text: I cannot tell
  - tool_calls: [{name: pay, arguments: {order: 7}}]
  - text: it was paid
`

// pays runs the session's first execution, which leaves one call unresolved.
func (s *stack) pays(t *testing.T, id string) agents.Execution {
	t.Helper()
	begun, err := s.agents.Start(within(t), agents.Start{ID: id, Prompt: "go", Definition: scripted(writeScript(t, paymentScript), "pay")})
	require.NoError(t, err)
	return s.ended(t, begun)
}

// resolvesAndGoesOn resolves its only call, by the beginning of its id, and runs the second execution.
func (s *stack) resolvesAndGoesOn(t *testing.T, id string) agents.Execution {
	t.Helper()
	status, err := s.agents.Status(within(t), id)
	require.NoError(t, err)
	require.Len(t, status.Waits, 1)
	resolved, err := s.agents.Resolve(within(t), id, agents.ResolveOptions{
		Call: status.Waits[0].ToolExecutionID.String()[:6], Verdict: domain.VerdictDone, Result: "receipt 4711", Reason: "it is in the journal",
	})
	require.NoError(t, err)
	require.Zero(t, resolved.UnknownOutcomes)
	second, err := s.agents.Send(within(t), id, agents.SendOptions{Prompt: "and now?"})
	require.NoError(t, err)
	return s.ended(t, second)
}

// unknownIn lists the agents with unresolved calls, as far as one of the name is among them.
func (s *stack) unknownIn(t *testing.T, name string) int {
	t.Helper()
	for listed, err := range s.agents.List(within(t), agents.ListOptions{Unknown: true}) {
		require.NoError(t, err)
		if listed.Name == name {
			return listed.Unknown
		}
	}
	return 0
}

// TestAnUnknownOutcomeIsResolved: everybody is told, with and without a worker, until somebody resolves it; then the
// model is, and nothing was paid twice.
func TestAnUnknownOutcomeIsResolved(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	first := s.work(t, host.Config{Tools: []tool.Tool{payment()}})
	id := "shop-" + uuid.NewString()[:8]
	s.pays(t, id)
	first.Stop()

	status, err := s.agents.Status(within(t), id)
	require.NoError(t, err)
	require.Equal(t, contract.FromHistory, status.Server.Source)
	require.Len(t, status.Waits, 1)
	require.NotEmpty(t, status.Waits[0].Arguments)
	require.Eventually(t, func() bool { return s.unknownIn(t, id) == 1 }, patience, 50*time.Millisecond)
	view, err := s.agents.Explain(within(t), id, 0)
	require.NoError(t, err)
	require.Contains(t, view.Advice[0].Command, "resolve "+id+" "+status.Waits[0].ToolExecutionID.String())
	_, err = s.agents.Resolve(within(t), id, agents.ResolveOptions{Call: "nothing", Verdict: domain.VerdictDone, Reason: "so"})
	require.ErrorContains(t, err, status.Waits[0].ToolExecutionID.String(), "it names those that there are")

	second := s.work(t, host.Config{Tools: []tool.Tool{payment()}})
	defer second.Stop()
	s.resolvesAndGoesOn(t, id)
	require.Eventually(t, func() bool { return s.unknownIn(t, id) == 0 }, patience, 50*time.Millisecond)
	result, err := s.agents.Result(within(t), id, 2)
	require.NoError(t, err)
	require.Equal(t, "it was paid", result.Answer)
	ran := 0
	for number := 1; number <= 2; number++ {
		for step, err := range s.agents.Steps(within(t), id, number) {
			require.NoError(t, err)
			ran += len(step.Step.ExecutedToolCalls())
		}
	}
	require.Equal(t, 1, ran)
	view, err = s.agents.Explain(within(t), id, 1)
	require.NoError(t, err)
	require.Equal(t, "it is in the journal", view.Steps[0].Tools[0].Waits[0].Answer.Reason)
	require.NotEmpty(t, view.Steps[0].Tools[0].Waits[0].Answer.By)
	require.Empty(t, view.Advice)

	_, err = s.agents.Close(within(t), id)
	require.NoError(t, err)
	_, err = s.agents.Resolve(within(t), id, agents.ResolveOptions{Call: "nothing", Verdict: domain.VerdictDone, Reason: "so"})
	require.ErrorContains(t, err, "has ended")
}

// knowing is a tool that never knows whether it has paid when it is called, and may be asked later.
func knowing() tool.Tool {
	return tool.New("pay", "Pays.", domain.AtMostOnce, func(context.Context, order) (string, error) {
		return "", tool.OutcomeUnknown(errors.New("the line broke"))
	}, tool.EffectKey("order"), tool.Verify(func(_ context.Context, args order) (tool.Finding, error) {
		switch args.Order {
		case 1:
			return tool.Happened("receipt 4711", "it is in the journal"), nil
		case 2:
			return tool.Fenced("the bank has made it void"), nil
		}
		return tool.NotKnown("there is no journal"), nil
	}))
}

const knowingScript = `
turns:
  - tool_calls: [{name: pay, arguments: {order: 1}}, {name: pay, arguments: {order: 2}}, {name: pay, arguments: {order: 3}}]
  - text: '{{ index (results "pay") 0 }}'
`

// TestAToolIsAskedWhatBecameOfItsCall, and what it says is recorded; history tells the same.
func TestAToolIsAskedWhatBecameOfItsCall(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{knowing()}})
	begun := s.ended(t, s.begin(t, knowingScript, "pay"))
	result, err := s.agents.Result(within(t), begun.ID, 1)
	require.NoError(t, err)
	require.Equal(t, "receipt 4711", result.Answer)
	view, err := s.agents.Explain(within(t), begun.ID, 1)
	require.NoError(t, err)
	calls := view.Steps[0].Tools
	require.Equal(t, []domain.ToolOutcome{domain.ToolOK, domain.ToolNotRun, domain.ToolUnknown}, []domain.ToolOutcome{calls[0].Outcome, calls[1].Outcome, calls[2].Outcome})
	require.Equal(t, domain.VerifyClient, calls[0].Waits[0].Answer.By)
	require.Equal(t, "the bank has made it void", calls[1].Waits[0].Answer.Reason)
	require.Empty(t, calls[2].Waits)
	status, err := s.agents.Status(within(t), begun.ID)
	require.NoError(t, err)
	require.Len(t, status.Waits, 1)
	require.Equal(t, `{"order":3}`, status.Waits[0].Arguments)
}

// TestVerifyOutlivesItsWorker: the call's is lost, and so is that which asks what became of it.
func TestVerifyOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	deaths := s.mortals(t)
	begun := s.ended(t, s.begin(t, `
turns:
  - tool_calls: [{name: wire, arguments: {}}]
  - text: '{{ result "wire" }}'
`, "wire"))
	result, err := s.agents.Result(within(t), begun.ID, 1)
	require.NoError(t, err)
	require.Equal(t, "receipt 4711", result.Answer)
	require.EqualValues(t, 2, deaths.Load())
}

// once is a tool that may not be repeated, and knows what it does.
func once() tool.Tool {
	return tool.New("once", "Acts.", domain.AtMostOnce, func(_ context.Context, args order) (string, error) {
		return args.Note, nil
	})
}

const turnsScript = `
turns:
  - tool_calls:
      - {name: pay, arguments: {order: 1}}
      - {name: once, arguments: {order: 1, note: a}}
      - {name: pay, arguments: {order: 1, note: please}}
      - {name: once, arguments: {order: 1, note: a}}
      - {name: pay, arguments: {order: 2}}
  - text: '{{ len (results "once") }}'
`

// TestCallsOfOneEffectTakeTurns: of two calls in one step that are one effect the second waits for what becomes of the
// first.
func TestCallsOfOneEffectTakeTurns(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{payment(), once()}})
	begun := s.ended(t, s.begin(t, turnsScript, "pay", "once"))
	view, err := s.agents.Explain(within(t), begun.ID, 1)
	require.NoError(t, err)
	var outcomes []domain.ToolOutcome
	for _, call := range view.Steps[0].Tools {
		outcomes = append(outcomes, call.Outcome)
	}
	require.Equal(t, []domain.ToolOutcome{domain.ToolUnknown, domain.ToolOK, domain.ToolNotRun, domain.ToolOK, domain.ToolUnknown}, outcomes)
	require.Equal(t, domain.CodeOutcomeUnresolved, view.Steps[0].Tools[2].Error.Code)
}
