package client

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/worker/host/codec"
)

func scriptedAgent() domain.Definition {
	return domain.Definition{Model: domain.LLMConfig{Provider: "scripted", Model: "/x.yaml"}, Tools: []string{"read_file"}}
}

func TestStartSendsTheInput(t *testing.T) {
	t.Parallel()
	f := newFake()
	var options sdk.StartWorkflowOptions
	var input contract.SessionInput
	f.start = func(o sdk.StartWorkflowOptions, in contract.SessionInput) error {
		options, input = o, in
		return nil
	}
	steps := int64(3)
	e, err := f.client().Start(t.Context(), Start{
		ID: "nora", Prompt: "go", Definition: scriptedAgent(), Budget: domain.ExecutionBudget{MaxSteps: &steps},
	})
	require.NoError(t, err)
	require.Equal(t, Execution{
		AgentID: nora.id, ID: "nora", Name: "nora", ExecutionID: nth(1), Number: 1, WorkflowID: "agent/nora", RunID: "run-1",
	}, e)
	require.Equal(t, "agent/nora", options.ID)
	require.Equal(t, contract.DefaultTaskQueue, options.TaskQueue)
	require.Empty(t, options.Memo)
	require.NotContains(t, options.StaticSummary, "go")
	name, ok := options.TypedSearchAttributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(contract.AttributeAgentName))
	require.True(t, ok)
	require.Equal(t, "nora", name)
	require.Equal(t, contract.SessionInput{
		AgentID: nora.id, Name: "nora", Definition: scriptedAgent(), Prompt: "go",
		Budget: domain.ExecutionBudget{MaxSteps: &steps}, Timing: contract.Timing{Heartbeat: 3 * time.Second, FirstRetry: 100 * time.Millisecond}, By: f.client().cfg.By,
		Attributes: []string{contract.AttributeAgentName, contract.AttributeAgentStatus},
	}, input)
}

func open() error {
	return serviceerror.NewWorkflowExecutionAlreadyStarted("already started", "request", "run-1")
}

func denied(text string) error {
	return temporal.NewApplicationError(text, string(domain.Denied), domain.Error{Kind: domain.Denied, Message: text})
}

// idleRun is a session whose first execution has ended.
func idleRun() *fakeRun {
	run := newRun("run-1", nil)
	run.ends(outcomeOf(1, 1))
	return run
}

// TestStartGoesBackWhereTheSessionEnds covers a session that ends between the
// start that met it and the message to it, in each way that this can show.
func TestStartGoesBackWhereTheSessionEnds(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{
		"gone":     serviceerror.NewNotFound("workflow execution already completed"),
		"ending":   temporal.NewApplicationError("ended", "AcceptedUpdateCompletedWorkflow"),
		"refusing": denied("the session is closed"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := idleRun()
			f := newFake(run)
			starts := 0
			f.start = func(sdk.StartWorkflowOptions, contract.SessionInput) error {
				if starts++; starts == 1 {
					return open()
				}
				return nil
			}
			f.update = func(string, any) (any, error) {
				run.status = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
				return nil, answer
			}
			e, err := f.client().Start(t.Context(), Start{ID: "nora", Prompt: "more", Definition: scriptedAgent()})
			require.NoError(t, err)
			require.Equal(t, 1, e.Number)
			require.Equal(t, 2, starts)
		})
	}
}

// TestSendWaitsForAWorker that is up, and for one that comes to an end with a task.
func TestSendWaitsForAWorker(t *testing.T) {
	t.Parallel()
	for says, meanwhile := range map[string]error{
		"task queue of nora, namespace farm, server far:7233": sdk.NewWorkflowUpdateServiceTimeoutOrCanceledError(context.DeadlineExceeded),
		"tasks fail": serviceerror.NewWorkflowNotReady("Unable to perform workflow execution update due to Workflow Task in failed state."),
	} {
		sendWaits(t, meanwhile, says)
	}
}

func sendWaits(t *testing.T, meanwhile error, says string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(idleRun())
		ids := map[string]int{}
		f.update = func(id string, _ any) (any, error) {
			ids[id]++
			if ids[id] < 4 {
				time.Sleep(updateTry)
				return nil, meanwhile
			}
			return contract.SendReply{ExecutionID: nth(2), Number: 2, Began: true}, nil
		}
		var said []string
		c := New(f, Config{Namespace: "farm", Server: "far:7233", Progress: func(text string) { said = append(said, text) }})
		e, err := c.Send(t.Context(), "nora", SendOptions{Prompt: "more"})
		require.NoError(t, err)
		require.Equal(t, 2, e.Number)
		require.Len(t, ids, 1, "the same id each time")
		require.Len(t, said, 1)
		require.Contains(t, said[0], says)
	})
}

// TestCloseWaitsForTheEnd: the session takes nothing more, and ends its own sessions with MCP servers. Its name is free then.
func TestCloseWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ ends, takes time.Duration }{
		"soon": {5 * time.Second, 5 * time.Second}, "not in time": {time.Hour, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := idleRun()
				f := newFake(run)
				f.update = func(string, any) (any, error) {
					time.AfterFunc(test.ends, func() {
						f.change(func() { run.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED) })
					})
					return contract.CloseReply{Executions: 1}, nil
				}
				said := make(chan string, 2) // it is said beside what waits
				c := New(f, Config{Loopback: true, Progress: func(text string) { said <- text }})
				begun := time.Now()
				n, err := c.Close(t.Context(), "nora")
				require.NoError(t, err)
				require.Equal(t, 1, n)
				require.Equal(t, test.takes, time.Since(begun))
				require.Equal(t, "nora is closed, and ends its sessions with MCP servers", <-said)
				require.Empty(t, said)
			})
		})
	}
}

// TestTiming: what costs nothing on one machine would cost heartbeats elsewhere.
func TestTiming(t *testing.T) {
	t.Parallel()
	near, task := Config{Loopback: true}.timing()
	require.Equal(t, contract.Timing{Heartbeat: 3 * time.Second, FirstRetry: 100 * time.Millisecond}, near)
	require.Equal(t, 2*time.Second, task)
	far, task := Config{}.timing()
	require.Equal(t, contract.Timing{Heartbeat: 30 * time.Second, FirstRetry: time.Second}, far)
	require.Equal(t, 10*time.Second, task)
}

// TestAClientReadsWhatDialWrites: whoever takes the Temporal client of host.Dial need not know how it
// compresses.
func TestAClientReadsWhatDialWrites(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("long ", codec.Threshold)
	payload, err := codec.New().DataConverter().ToPayload(large)
	require.NoError(t, err)
	require.Less(t, len(payload.GetData()), len(large))
	var text string
	require.NoError(t, newFake().client().cfg.Converter.FromPayload(payload, &text))
	require.Equal(t, large, text)
}

// TestARunThatTakesNoMoreUpdates is told in words of ours, with what to do.
func TestARunThatTakesNoMoreUpdates(t *testing.T) {
	t.Parallel()
	f := newFake(idleRun())
	f.update = func(string, any) (any, error) {
		return nil, serviceerror.NewFailedPrecondition("The limit on the total number of distinct updates in this workflow has been reached (2000). You can also Continue-as-New to avoid this")
	}
	_, err := f.client().Send(t.Context(), "nora", SendOptions{Prompt: "more"})
	requireClass(t, err, Refused)
	require.ErrorContains(t, err, "send the message again then")
	require.NotContains(t, err.Error(), "Continue-as-New")
}
