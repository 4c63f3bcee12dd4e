package whole_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/hook"
	"everstep/starter/client"
	"everstep/worker/host"
	"everstep/worker/host/codec"
)

// numbered says, at each step of the model, its number.
func numbered(n int) hook.Hook {
	return hook.BeforeStep("numbered", func(c hook.Point) (hook.Point, error) {
		return c.Say(domain.RoleUser, fmt.Sprint("number ", n)), nil
	})
}

// workScript calls the tool of a workshop, then answers.
const workScript = `
turns:
  - tool_calls: [{name: work}]
  - text: 'done'
`

// midway starts an agent with the hooks of a worker, and stops that worker when
// the agent is paused after its first step.
func (s *stack) midway(t *testing.T, definition domain.Definition, hooks ...hook.Hook) client.Execution {
	t.Helper()
	shop := newWorkshop()
	first := s.work(t, host.Config{Tools: []tool.Tool{shop.tool(domain.AtMostOnce)}, Hooks: hooks})
	definition.Model, definition.Tools = scripted(writeScript(t, workScript)).Model, []string{"work"}
	begun := s.starts(t, client.Start{Prompt: "go", Definition: definition})
	<-shop.began
	s.pauses(t, begun.ID)
	shop.open()
	require.Eventually(t, func() bool {
		status, err := s.agents.Status(within(t), begun.ID)
		return err == nil && status.Doing == "paused" && status.Steps == 1
	}, patience, 20*time.Millisecond)
	first.Stop()
	return begun
}

// goesOn resumes an agent in the background: the update is taken by a worker
// that can run it.
func (s *stack) goesOn(t *testing.T, id string) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	ctx := within(t)
	go func() {
		_, err := s.agents.Resume(ctx, id)
		done <- err
	}()
	return done
}

// failedTask waits until a workflow task has failed or timed out, and returns why.
func (s *stack) failedTask(t *testing.T, of client.Execution) string {
	t.Helper()
	compress := codec.New()
	failures := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: compress.DataConverter()})
	var message string
	require.Eventually(t, func() bool {
		events := s.temporal.GetWorkflowHistory(within(t), of.WorkflowID, of.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return false
			}
			if failed := event.GetWorkflowTaskFailedEventAttributes(); failed != nil {
				message = failures.FailureToError(failed.GetFailure()).Error()
				return true
			}
			if event.GetWorkflowTaskTimedOutEventAttributes().GetTimeoutType() == enumspb.TIMEOUT_TYPE_START_TO_CLOSE {
				message = "timed out"
				return true
			}
		}
		return false
	}, patience, 50*time.Millisecond)
	return message
}

// TestAReplyIsRecorded: a worker whose hook of the name says something else keeps to what was said, and says the other from
// then on.
func TestAReplyIsRecorded(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	begun := s.midway(t, domain.Definition{Hooks: []string{"numbered"}}, numbered(1))
	second := s.work(t, host.Config{Tools: []tool.Tool{newWorkshop().tool(domain.AtMostOnce)}, Hooks: []hook.Hook{numbered(2)}})
	defer second.Stop()
	require.NoError(t, <-s.goesOn(t, begun.ID))
	s.completed(t, begun.ID, 0)
	require.Equal(t, []string{"number 1", "number 2"}, s.said(t, begun.ID))
}

// said is what hooks have said to the model.
func (s *stack) said(t *testing.T, id string) []string {
	t.Helper()
	var texts []string
	for _, entry := range s.messages(t, id) {
		if m := entry.Message; m.Role == domain.RoleUser && m.Text() != "go" {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

// TestAWorkerWithoutTheHook says what is missing, and harms nothing: a worker that has it goes on.
func TestAWorkerWithoutTheHook(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	begun := s.midway(t, domain.Definition{Hooks: []string{"numbered"}}, numbered(1))
	tools := []tool.Tool{newWorkshop().tool(domain.AtMostOnce)}
	bad := s.work(t, host.Config{Tools: tools})
	resumed := s.goesOn(t, begun.ID)
	const says = `hook "numbered" at before_step: the execution uses it, and this worker has none of that name there; run a worker that has it`
	require.Contains(t, s.failedTask(t, begun), says)
	s.doing(t, begun.ID, fmt.Sprintf("worker %d@", os.Getpid()))
	s.doing(t, begun.ID, says)
	bad.Stop()
	good := s.work(t, host.Config{Tools: tools, Hooks: []hook.Hook{numbered(1)}})
	defer good.Stop()
	require.NoError(t, <-resumed)
	result := s.result(t, begun.ID, 0)
	require.Equal(t, "done", result.Answer, "%v", result.Error)
	require.Equal(t, []string{"number 1", "number 1"}, s.said(t, begun.ID))
}

// TestAHookThatDoesNotReturn is noticed by the SDK's deadlock detector, or by the
// server where that is sooner: the workflow task fails and is tried again, and
// nothing is lost. The first call waits for the end of the test, as a loop
// without an end would.
func TestAHookThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	var ran atomic.Int32
	stuck := hook.BeforeInference("stuck", func(c hook.Inference) (hook.Inference, error) {
		if ran.Add(1) == 1 {
			<-release
		}
		return c, nil
	})
	stuck.Always = true
	s := start(t, host.Config{Hooks: []hook.Hook{stuck}})
	begun := s.begin(t, "turns: [{text: done}]")
	require.Contains(t, s.failedTask(t, begun), "deadlock")
	require.Equal(t, "done", s.completed(t, begun.ID, 0).Answer)
}

// TestAReplyThatDiffersIsRecordedAgain, and no other: one that changes nothing once, one that alternates each time, one
// that blocks a call where it does. A hook of a panic has a reply, too.
func TestAReplyThatDiffersIsRecordedAgain(t *testing.T) {
	t.Parallel()
	hooks := []hook.Hook{
		hook.BeforeStep("idle", func(c hook.Point) (hook.Point, error) { return c, nil }),
		hook.AfterStep("alternates", func(c hook.Point) (hook.Point, error) {
			if c.State.StepCount()%2 == 0 {
				return c, nil
			}
			return c.Note("odd", c.State.StepCount())
		}),
		hook.BeforeToolUse("blocks", func(c hook.ToolUse) (hook.ToolUse, error) {
			if c.State.StepCount() == 1 {
				return hook.Block(c, "not now"), nil
			}
			return c, nil
		}),
		hook.OnStop("panics", func(hook.Point) (hook.Point, error) { panic("hunter2") }),
	}
	for i := range hooks {
		hooks[i].Always = true
	}
	s := start(t, host.Config{Hooks: hooks, Tools: []tool.Tool{echo()}})
	begun := s.starts(t, client.Start{Prompt: "go", Definition: scripted(longScript(t, 5, 1), "echo")})
	result := s.result(t, begun.ID, 0)
	require.Contains(t, result.Error.Message, `hook "panics" at on_stop: it panicked`)
	require.NotContains(t, result.Error.Message, "hunter2")
	recorded := map[string]int{}
	for _, marker := range replies(s.history(t, begun.WorkflowID, begun.RunID)) {
		var id string
		require.NoError(t, codec.New().DataConverter().FromPayloads(marker.Details["data"], &id, new(commonpb.Payloads)))
		recorded[id]++
	}
	require.Equal(t, map[string]int{
		"hook/before_step/idle": 1, "hook/after_step/alternates": result.Outcome.Steps, "hook/before_tool_use/blocks": 3, "hook/on_stop/panics": 1,
	}, recorded)
}
