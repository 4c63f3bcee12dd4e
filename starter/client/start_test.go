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
	require.Equal(t, 2*time.Second, options.WorkflowTaskTimeout)
	require.Equal(t, enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL, options.WorkflowIDConflictPolicy)
	require.Equal(t, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, options.WorkflowIDReusePolicy)
	require.True(t, options.WorkflowExecutionErrorWhenAlreadyStarted)
	require.Zero(t, options.WorkflowExecutionTimeout)
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

func TestStartOfAnAgentWithoutAName(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.start = func(o sdk.StartWorkflowOptions, in contract.SessionInput) error {
		require.Empty(t, in.Name)
		require.Equal(t, domain.WorkflowID(in.AgentID.String()), o.ID)
		return nil
	}
	c := f.client()
	first, err := c.Start(t.Context(), Start{Prompt: "go", Definition: scriptedAgent()})
	require.NoError(t, err)
	second, err := c.Start(t.Context(), Start{Prompt: "go", Definition: scriptedAgent()})
	require.NoError(t, err)
	require.NotEqual(t, first.AgentID, second.AgentID)

	f.start = func(sdk.StartWorkflowOptions, contract.SessionInput) error { return open() }
	_, err = c.Start(t.Context(), Start{ID: first.ID, Prompt: "go", Definition: scriptedAgent()})
	requireClass(t, err, Refused)
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

func TestStartOfAnOpenSession(t *testing.T) {
	t.Parallel()
	f := newFake(idleRun())
	f.start = func(sdk.StartWorkflowOptions, contract.SessionInput) error { return open() }
	var sent contract.SendRequest
	f.update = func(_ string, in any) (any, error) {
		sent = in.(contract.SendRequest)
		return contract.SendReply{ExecutionID: nth(2), Number: 2, RunID: "run-7", Began: true}, nil
	}
	c := f.client()
	e, err := c.Start(t.Context(), Start{ID: "nora", Prompt: "more", Definition: scriptedAgent()})
	require.NoError(t, err)
	require.Equal(t, 2, e.Number)
	require.Equal(t, "run-7", e.RunID)
	require.True(t, sent.IfIdle)
	require.Equal(t, scriptedAgent().Model, *sent.Model)
	require.Equal(t, &domain.Definition{Tools: []string{"read_file"}}, sent.Definition)

	_, err = c.Start(t.Context(), Start{ID: "nora", Prompt: "more", Definition: scriptedAgent(), Given: &domain.Definition{}})
	require.NoError(t, err)
	require.Equal(t, contract.SendRequest{Prompt: "more", IfIdle: true, By: c.cfg.By}, sent, "nothing was asked for explicitly")

	f.update = func(string, any) (any, error) { return nil, denied("execution 2 is in progress") }
	_, err = c.Start(t.Context(), Start{ID: "nora", Prompt: "more", Definition: scriptedAgent()})
	requireClass(t, err, Refused)
	require.EqualError(t, err, "execution 2 is in progress")
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

func TestBadInputIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	past, minus := time.Now().Add(-time.Second), int64(-1)
	big := scriptedAgent()
	big.SystemPrompt = strings.Repeat("x", domain.MaxSystemPrompt+1)
	for name, c := range map[string]struct {
		start Start
		field string
	}{
		"empty prompt":       {Start{Definition: scriptedAgent()}, "prompt"},
		"blank prompt":       {Start{Prompt: " \n", Definition: scriptedAgent()}, "prompt"},
		"long prompt":        {Start{Prompt: strings.Repeat("x", domain.MaxMessage+1), Definition: scriptedAgent()}, "prompt"},
		"long when encoded":  {Start{Prompt: strings.Repeat("\x01", domain.MaxMessage), Definition: scriptedAgent()}, "prompt"},
		"not UTF-8":          {Start{Prompt: "a\xff", Definition: scriptedAgent()}, "prompt"},
		"long system prompt": {Start{Prompt: "go", Definition: big}, "system prompt"},
		"negative budget":    {Start{Prompt: "go", Definition: scriptedAgent(), Budget: domain.ExecutionBudget{MaxSteps: &minus}}, "max_steps"},
		"deadline passed":    {Start{Prompt: "go", Definition: scriptedAgent(), Budget: domain.ExecutionBudget{Deadline: &past}}, "deadline"},
		"no model":           {Start{Prompt: "go"}, "model"},
		"id with a slash":    {Start{ID: "a/b", Prompt: "go", Definition: scriptedAgent()}, "id"},
		"id with a space":    {Start{ID: "a b", Prompt: "go", Definition: scriptedAgent()}, "id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newFake().client().Start(t.Context(), c.start) // the fake panics on any call
			requireClass(t, err, Invalid)
			require.ErrorContains(t, err, c.field+":")
			require.NotContains(t, err.Error(), "\n")
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

func TestSendAndCloseWhereTheyAreRefused(t *testing.T) {
	t.Parallel()
	closed := newRun("run-1", nil)
	closed.ends(outcomeOf(1, 1))
	closed.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED)
	unnamed := "3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11"
	for name, c := range map[string]struct {
		id  string
		run *fakeRun
	}{
		"ended":   {"nora", closed},
		"unnamed": {unnamed, newRun("run-1", nil)},
		"running": {"nora", newRun("run-1", nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(c.run)
			// No worker is needed to refuse: the fake panics on any update.
			_, err := f.client().Send(t.Context(), c.id, SendOptions{Prompt: "more"})
			requireClass(t, err, Refused)
			_, err = f.client().Close(t.Context(), c.id)
			requireClass(t, err, Refused)
		})
	}
	_, err := newFake(newRun("run-1", nil)).withDeleted("run-1").client().Send(t.Context(), "nora", SendOptions{Prompt: "more"})
	requireClass(t, err, NotFound)
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

func TestStop(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.ends(outcomeOf(1, 1))
	f := newFake(run)
	var sent []contract.StopRequest
	f.signal = func(in contract.StopRequest) error { sent = append(sent, in); return nil }
	_, err := f.client().Stop(t.Context(), "nora", StopOptions{})
	requireClass(t, err, Refused)
	require.ErrorContains(t, err, "idle")

	run.sent(2)
	e, err := f.client().Stop(t.Context(), "nora", StopOptions{Mode: contract.StopNow, Within: contract.Span(time.Second), Reason: "enough"})
	require.NoError(t, err)
	require.Equal(t, 2, e.Number)
	require.Equal(t, []contract.StopRequest{{
		Reason: "enough", Mode: contract.StopNow, Within: contract.Span(time.Second), ExecutionID: nth(2),
	}}, sent)

	f.signal = func(contract.StopRequest) error { return serviceerror.NewNotFound("already completed") }
	_, err = f.client().Stop(t.Context(), "nora", StopOptions{})
	requireClass(t, err, Refused)
	for field, o := range map[string]StopOptions{
		"mode": {Mode: "soon"}, "within": {Within: -2}, "reason": {Reason: strings.Repeat("x", domain.MaxReason+1)},
	} {
		_, err = f.client().Stop(t.Context(), "nora", o)
		requireClass(t, err, Invalid)
		require.ErrorContains(t, err, field+":")
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
