package workflows_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// modelReplies draws what a model may come to, well or badly.
func modelReplies() *rapid.Generator[contract.ModelReply] {
	usage := rapid.Custom(func(t *rapid.T) domain.Usage {
		return domain.Usage{
			InputTokens: rapid.Int64Range(0, 60).Draw(t, "input"), OutputTokens: rapid.Int64Range(0, 20).Draw(t, "output"),
			Estimated: rapid.Bool().Draw(t, "estimated"),
		}
	})
	call := rapid.Custom(func(t *rapid.T) domain.ToolCall {
		return domain.ToolCall{
			ID: rapid.SampledFrom([]string{"", "1", "1", "\x00"}).Draw(t, "id"), Name: rapid.SampledFrom([]string{"look", "once", "nothing", ""}).Draw(t, "tool"),
			Arguments: rapid.SampledFrom([]string{"{}", "", "not json", strings.Repeat("x", domain.MaxInlineArguments+1)}).Draw(t, "arguments"),
		}
	})
	return rapid.Custom(func(t *rapid.T) contract.ModelReply {
		text := rapid.SampledFrom([]string{"", " ", "words", "words and more words"}).Draw(t, "text")
		reply := says(text, rapid.SliceOfN(call, 0, 4).Draw(t, "calls")...)
		reply.Outcome = rapid.SampledFrom(append(enum.Known[contract.ModelOutcome](), contract.Answered, contract.Answered, contract.Answered)).Draw(t, "outcome")
		reply.Response.Finish = rapid.SampledFrom(enum.Known[domain.FinishReason]()).Draw(t, "finish")
		reply.Response.Usage = usage.Draw(t, "usage")
		reply.Spent = usage.Draw(t, "spent")
		reply.Tries = rapid.IntRange(0, 3).Draw(t, "tries")
		if reply.Outcome != contract.Answered || rapid.IntRange(0, 5).Draw(t, "silent") == 0 {
			reply.Message = nil
		}
		if reply.Outcome == contract.BilledFailure {
			reply.Error = domain.Errorf(rapid.SampledFrom(enum.Known[domain.Kind]()).Draw(t, "kind"), "it failed")
			reply.RetryAfterMillis = rapid.Int64Range(-1, 5000).Draw(t, "after")
		}
		return reply
	})
}

// toolReplies draws what a tool may come to; an error is the activity's own.
func toolReplies() *rapid.Generator[func() (contract.ToolReply, error)] {
	return rapid.Custom(func(t *rapid.T) func() (contract.ToolReply, error) {
		reply := contract.ToolReply{Content: rapid.SampledFrom([]string{"", "seen", "<\x00>"}).Draw(t, "content")}
		if rapid.IntRange(0, 3).Draw(t, "failed") == 0 {
			reply.Error = domain.CodedErrorf(rapid.SampledFrom(enum.Known[domain.Kind]()).Draw(t, "kind"), rapid.SampledFrom(enum.Known[domain.Code]()).Draw(t, "code"), "it failed")
			reply.NotStarted = rapid.Bool().Draw(t, "not started")
		}
		if rapid.IntRange(0, 9).Draw(t, "stops") == 0 {
			reply.Stop = &domain.StopSignal{Reason: domain.StopRequested, Message: "enough", Context: domain.Metadata{"a": []byte("1")}}
		}
		lost := rapid.SampledFrom([]error{
			nil, nil, nil, nil, nil, nil, nil, temporal.NewNonRetryableApplicationError("lost", "x", nil),
			temporal.NewHeartbeatTimeoutError(contract.Heartbeat{Step: 1}),
			temporal.NewApplicationErrorWithOptions("busy", "x", temporal.ApplicationErrorOptions{NextRetryDelay: time.Second}),
		}).Draw(t, "lost")
		return func() (contract.ToolReply, error) {
			if lost != nil {
				return contract.ToolReply{}, lost
			}
			return reply, nil
		}
	})
}

func limits() *rapid.Generator[*int64] {
	return rapid.Custom(func(t *rapid.T) *int64 {
		if rapid.Bool().Draw(t, "unlimited") {
			return nil
		}
		return number(rapid.Int64Range(0, 6).Draw(t, "limit"))
	})
}

// TestWhateverComes from models, tools and people, in whatever order: the
// execution ends, no limit is exceeded, all that was spent is counted, and
// every call has its one result.
func TestWhateverComes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(draw *rapid.T) {
		replies := rapid.SliceOfN(modelReplies(), 1, 8).Draw(draw, "model")
		tools := rapid.SliceOfN(toolReplies(), 1, 5).Draw(draw, "tool")
		budget := domain.ExecutionBudget{MaxSteps: limits().Draw(draw, "steps"), MaxToolCalls: limits().Draw(draw, "calls")}
		if tokens := limits().Draw(draw, "tokens"); tokens != nil {
			budget.MaxTokens = number(*tokens * 60)
		}
		var spent domain.Usage
		cancelled := false
		w := &world{tools: []domain.ToolSpec{{Name: "look", Effect: domain.ReadOnly}, {Name: "once", Effect: domain.AtMostOnce}}}
		w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
			if budget.MaxTokens != nil && spent.TotalTokens()+r.MaxOutputTokens >= *budget.MaxTokens {
				t.Errorf("%d tokens are spent of %d, and %d more are asked for", spent.TotalTokens(), *budget.MaxTokens, r.MaxOutputTokens)
			}
			if len(w.asked) > len(replies) {
				return says("the end"), nil
			}
			reply := replies[len(w.asked)-1]
			spent = spent.Add(reply.Response.Usage).Add(reply.Spent)
			return reply, nil
		}
		used := map[domain.ToolExecutionID]bool{}
		w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
			reply, err := tools[(r.Step*7+r.Position)%len(tools)]()
			if !reply.NotStarted && (reply.Error == nil || reply.Error.Code != domain.CodeNotRun) {
				w.mu.Lock()
				defer w.mu.Unlock()
				used[r.ID()] = true
			}
			return reply, err
		}
		env := w.environment(t)
		for i := range rapid.IntRange(0, 2).Draw(draw, "stops") {
			request := contract.StopRequest{
				Mode:   rapid.SampledFrom(enum.Known[contract.StopMode]()).Draw(draw, "mode"),
				Within: contract.Span(rapid.SampledFrom([]time.Duration{0, time.Nanosecond, time.Second}).Draw(draw, "within")),
			}
			cancelled = cancelled || request.Mode == contract.StopNow || request.Within > 0
			at := time.Duration(rapid.IntRange(0, 4000).Draw(draw, fmt.Sprint("at ", i))) * time.Millisecond
			env.RegisterDelayedCallback(func() { env.SignalWorkflow(string(contract.SignalStop), request) }, at)
		}
		env.ExecuteWorkflow(string(contract.Execute), input(t, "", func(in *contract.SessionInput) {
			in.Budget, in.Definition.Attempts = budget, rapid.IntRange(1, 4).Draw(draw, "attempts")
		}))

		out := outcome(t, env)
		require.True(t, out.Status.Terminal())
		if budget.MaxSteps != nil {
			require.LessOrEqual(t, int64(out.Steps), *budget.MaxSteps)
		}
		if len(w.asked) <= len(replies) && !cancelled {
			require.Equal(t, spent, out.Usage, "all that was spent is counted")
		}
		checkTranscript(t, query(t, env, contract.QueryMessages, contract.MessagesRequest{}).Entries)
		steps := stepsIn(t, env, 0)
		require.Len(t, steps, out.Steps)
		for _, step := range steps {
			require.Len(t, step.Step.ToolExecutions, len(step.Step.RequestedToolCalls()))
			for _, e := range step.Step.ToolExecutions {
				require.False(t, e.CompletedAt.IsZero())
			}
		}
		if budget.MaxToolCalls != nil {
			require.LessOrEqual(t, int64(len(used)), *budget.MaxToolCalls)
		}
		stateIn(t, env)
	})
}

// checkTranscript: each call is followed by its one result, in order.
func checkTranscript(t *testing.T, entries []domain.Entry) {
	t.Helper()
	var due []domain.ToolCall
	for i, e := range entries {
		require.Equal(t, i, e.Index)
		result := e.Message.ToolResult
		if len(due) == 0 {
			require.Nil(t, result, "a result without a call")
			due = e.Message.ToolCalls
			continue
		}
		require.NotNil(t, result, "a call without a result")
		require.Equal(t, due[0].ID, result.CallID)
		require.Equal(t, due[0].Name, result.Name)
		due = due[1:]
	}
	require.Empty(t, due, "a call without a result")
}
