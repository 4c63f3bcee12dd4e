package whole_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	agents "everstep/starter/client"
	"everstep/worker/host"
	"everstep/workflows"
)

// recordVersions records the sequences of which only a version tells that they are others.
func recordVersions(t *testing.T) {
	t.Helper()
	t.Run("shared-images", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{drawing()}})
		s.keep(t, "shared-images", s.ended(t, s.begin(t,
			"turns: [{tool_calls: ["+strings.Repeat("{name: draw}, ", 17)+"]}, {text: done}]", "draw")))
	})
	t.Run("approvals-unsaid", func(t *testing.T) {
		s := connect(t, "plain", nil)
		s.silent(t)
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: domain.Definition{Model: domain.LLMConfig{Provider: "silent", Model: "one"}, Tools: []string{"pay"}}})
		require.NoError(t, err)
		call := s.waitingOf(t, begun.ID, 1)[0]
		_, err = s.agents.Approve(within(t), begun.ID, agents.Word{Call: call.ToolExecutionID, Digest: call.Digest, By: "ann"})
		require.NoError(t, err)
		s.keep(t, "approvals-unsaid", s.ended(t, begun))
	})
	t.Run("cancelled-between", func(t *testing.T) {
		s := connect(t, "plain", nil)
		begun := s.cancelledBetween(t, "kept-between")
		s.keep(t, "cancelled-between", begun)
	})
	t.Run("replaced-summaries", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		s.keep(t, "replaced-summaries", s.outgrows(t, 14))
	})
	t.Run("go-on-role", func(t *testing.T) {
		s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo()}})
		begun, err := s.agents.Start(within(t), agents.Start{ID: "kept", Prompt: "go", Definition: scripted(longScript(t, 2, 1), "echo"), Budget: steps(1)})
		require.NoError(t, err)
		s.ended(t, begun)
		// What it drops wakes it where it is idle, until the server suggests a new run.
		require.Eventually(t, func() bool {
			require.NoError(t, s.temporal.SignalWorkflow(within(t), begun.WorkflowID, "", string(contract.SignalStop), contract.StopRequest{}))
			return s.asked(t, "kept").RunID != begun.RunID
		}, patience, 20*time.Millisecond)
		second, err := s.agents.Extend(within(t), "kept", agents.ExtendOptions{Budget: steps(9)})
		require.NoError(t, err)
		s.ended(t, second.Execution)
		_, err = s.agents.Close(within(t), "kept")
		require.NoError(t, err)
		s.keep(t, "go-on-role", agents.Execution{WorkflowID: begun.WorkflowID})
	})
}

// silent starts a worker that says nothing of approvals, as one of before they were does.
func (s *stack) silent(t *testing.T) {
	t.Helper()
	w := worker.New(s.temporal, s.queue, worker.Options{})
	workflows.Register(w, workflows.Options{})
	serve := func(name string, run any) { w.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name}) }
	serve(string(contract.ListTools), func(context.Context, contract.CatalogRequest) (contract.Catalog, error) {
		return contract.Catalog{Digest: domain.DigestOf([]byte("silent")), Tools: []domain.ToolSpec{{Name: "pay", Effect: domain.AtMostOnce}}}, nil
	})
	var asked atomic.Int64
	serve(string(contract.CallModel), func(context.Context, contract.ModelRequest) (contract.ModelReply, error) {
		m, finish := domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "done"}}}, domain.FinishStop
		if asked.Add(1) == 1 {
			m, finish = domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "one", Name: "pay", Arguments: "{}"}}}, domain.FinishToolCalls
		}
		return contract.ModelReply{
			Outcome: contract.Answered, Message: &m, Digest: domain.DigestOf([]byte(finish)), Tries: 1,
			Response: domain.Response{Finish: finish, Usage: domain.Usage{InputTokens: 10, OutputTokens: 5}},
		}, nil
	})
	serve(string(contract.CallTool), func(context.Context, contract.ToolRequest) (contract.ToolReply, error) {
		return contract.ToolReply{Content: "paid", Digest: domain.DigestOf([]byte("paid"))}, nil
	})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
}

// recordForks records an agent that begins with what another one had come to.
func recordForks(t *testing.T) {
	t.Helper()
	t.Run("forked", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		origin := s.ended(t, s.begin(t, `
turns:
  - {text: one, tool_calls: [{name: echo, arguments: {text: a}}]}
  - {text: two, tool_calls: [{name: echo, arguments: {text: b}}]}
  - text: done
`, "echo"))
		begun, err := s.agents.Fork(within(t), agents.Point{ID: origin.ID, Step: new(1)}, agents.ForkOptions{Prompt: "otherwise"})
		require.NoError(t, err)
		s.keep(t, "forked", s.ended(t, begun))
	})
}
