package whole_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"everstep/domain"
	"everstep/domain/contract"
	agents "everstep/starter/client"
	"everstep/workflows"
)

// TestACancellationWhileAnExecutionIsRecorded: the message that the session has taken by then begins an execution, which
// tells that the workflow was cancelled, and the session ends.
func TestACancellationWhileAnExecutionIsRecorded(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	second := s.cancelledBetween(t, s.named("cancelled"))
	result, err := s.agents.Result(within(t), second.ID, second.Number)
	require.NoError(t, err)
	require.Equal(t, []any{2, domain.StatusStopped, domain.UserRequested}, []any{result.Outcome.Number, result.Outcome.Status, result.Outcome.StopReason})
	explained, err := s.agents.Explain(within(t), second.ID, second.Number)
	require.NoError(t, err)
	require.Equal(t, domain.StatusStopped, explained.Status)
}

// cancelledBetween gives a session a message, and cancels its workflow, while its first execution is being recorded. It
// waits for the execution that the message has begun.
func (s *stack) cancelledBetween(t *testing.T, name string) agents.Execution {
	t.Helper()
	sent := make(chan agents.Execution, 1)
	w := worker.New(s.temporal, s.queue, worker.Options{})
	workflows.Register(w, workflows.Options{})
	serve := func(name string, run any) { w.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name}) }
	serve(string(contract.ListTools), func(context.Context, contract.ResolveRequest) (contract.Resolved, error) {
		return contract.Resolved{Digest: domain.DigestOf([]byte("records")), Records: true, Approvals: domain.ApprovalsOf("allow")}, nil
	})
	serve(string(contract.CallModel), func(context.Context, contract.ModelRequest) (contract.ModelReply, error) {
		m := domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "done"}}}
		return contract.ModelReply{
			Outcome: contract.Answered, Message: &m, Digest: domain.DigestOf([]byte("done")), Tries: 1,
			Response: domain.Response{Finish: domain.FinishStop, Usage: domain.Usage{InputTokens: 10, OutputTokens: 5}},
		}, nil
	})
	serve(string(contract.Record), func(ctx context.Context, r contract.RecordRequest) (contract.Segment, error) {
		if r.Ended == nil || r.Ended.Number > 1 {
			return contract.Segment{}, nil
		}
		second, err := s.agents.Send(ctx, name, agents.SendOptions{Prompt: "more"})
		if err != nil {
			return contract.Segment{}, err
		}
		sent <- second
		return contract.Segment{}, s.temporal.CancelWorkflow(ctx, domain.WorkflowID(name), "")
	})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	_, err := s.agents.Start(within(t), agents.Start{ID: name, Prompt: "go", Definition: domain.Definition{Model: domain.LLMConfig{Provider: "records", Model: "one"}}})
	require.NoError(t, err)
	second := <-sent
	require.NoError(t, s.temporal.GetWorkflow(within(t), domain.WorkflowID(name), "").Get(within(t), nil))
	return agents.Execution{ID: name, WorkflowID: domain.WorkflowID(name), Number: second.Number}
}
