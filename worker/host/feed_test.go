package host

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/activities/transcript"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows"
)

// watched runs workflows with the feeder between them and their activities.
func watched(f *feeder) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: 2 * time.Minute, Interceptors: []interceptor.WorkerInterceptor{f}})
	env.SetTestTimeout(2 * time.Minute)
	return env
}

func serveAs[In, Out any](env *testsuite.TestWorkflowEnvironment, name contract.Activity[In, Out], run func(In) Out) {
	env.RegisterActivityWithOptions(func(_ context.Context, in In) (Out, error) { return run(in), nil },
		activity.RegisterOptions{Name: string(name)})
}

func TestActivitiesFindTheirTranscriptInTheCache(t *testing.T) {
	t.Parallel()
	cache := transcript.NewCache(0)
	var reached []contract.Boundary
	var places []contract.Place
	env := watched(&feeder{cache: cache, at: func(ctx context.Context, b contract.Boundary) {
		reached, places = append(reached, b), append(places, contract.PlaceOf(ctx))
	}})
	workflows.Register(env, workflows.Options{})
	const started = "agent/5a0c9d6e-6f0f-4d27-9c7e-0d3f3f1d3a55"
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: started})
	digest := domain.DigestOf([]byte("resolved"))
	serveAs(env, contract.ListTools, func(contract.ResolveRequest) contract.Resolved {
		_, _, ok := cache.Find(started)
		require.False(t, ok, "there is no definition yet")
		return contract.Resolved{Tools: []domain.ToolSpec{{Name: "look", Schema: []byte(`{}`), Effect: domain.ReadOnly}}, Digest: digest}
	})
	inferences := 0
	serveAs(env, contract.CallModel, func(ask contract.ModelRequest) contract.ModelReply {
		log, resolved, ok := cache.Find(started)
		require.True(t, ok)
		require.Equal(t, ask.Log, log.Ref())
		require.Equal(t, ask.Resolved, resolved.Digest)
		inferences++
		m := domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "done"}}}
		finish := domain.FinishStop
		if inferences == 1 {
			m.ToolCalls = []domain.ToolCall{{ID: "1", Name: "look", Arguments: `{}`}}
			finish = domain.FinishToolCalls
		}
		return contract.ModelReply{Outcome: contract.Answered, Message: &m, Tries: 1, Digest: digest, Response: domain.Response{Finish: finish}}
	})
	serveAs(env, contract.CallTool, func(contract.ToolRequest) contract.ToolReply {
		log, _, _ := cache.Find(started)
		require.Equal(t, 2, log.Len(), "the message that asks for the call is there")
		return contract.ToolReply{Content: "seen"}
	})
	agent, err := domain.AgentIDOf("5a0c9d6e-6f0f-4d27-9c7e-0d3f3f1d3a55")
	require.NoError(t, err)
	env.ExecuteWorkflow(string(contract.Execute), contract.SessionInput{
		AgentID: agent, Prompt: "hello",
		Definition: domain.Definition{Model: domain.LLMConfig{Provider: "scripted", Model: "/x"}, Tools: []string{"look"}},
	})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, inferences)
	require.Equal(t, []contract.Boundary{contract.BetweenSteps, contract.BetweenSteps}, reached)
	for i, place := range places {
		require.Equal(t, started, place.WorkflowID)
		require.Equal(t, i+1, place.Step)
		require.False(t, place.ExecutionID.IsZero())
	}
}

func TestContinuingIsABoundary(t *testing.T) {
	t.Parallel()
	var reached []contract.Boundary
	env := watched(&feeder{cache: transcript.NewCache(0), at: func(_ context.Context, b contract.Boundary) { reached = append(reached, b) }})
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		return workflow.NewContinueAsNewError(ctx, "continuing")
	}, workflow.RegisterOptions{Name: "continuing"})
	env.ExecuteWorkflow("continuing")
	require.True(t, workflow.IsContinueAsNewError(env.GetWorkflowError()))
	require.Equal(t, []contract.Boundary{contract.Continuing}, reached)
}
