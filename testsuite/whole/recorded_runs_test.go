package whole_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// A replayer answers tool calls as the recordings did: by agent, execution,
// step and position.
type replayer struct {
	mu      sync.Mutex
	running map[string]recordedExecution // by workflow id
}

func (r *replayer) expect(workflowID string, e recordedExecution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[workflowID] = e
}

func (r *replayer) call(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
	at, ok := tool.ExecutionOf(ctx)
	if !ok {
		return tool.Result{}, fmt.Errorf("the call does not know its execution")
	}
	r.mu.Lock()
	execution := r.running[activity.GetInfo(ctx).WorkflowExecution.ID]
	r.mu.Unlock()
	content, ok := execution.result(at.Step, at.Position)
	if !ok {
		return tool.Result{}, fmt.Errorf("nothing was recorded for step %d, call %d", at.Step, at.Position)
	}
	return tool.Result{Content: content}, nil
}

// tools are all that the runs call, idempotent and with any arguments.
func (r *replayer) tools(runs []recordedRun) []tool.Tool {
	var names []string
	for _, run := range runs {
		names = append(names, run.tools()...)
	}
	slices.Sort(names)
	var tools []tool.Tool
	for _, name := range slices.Compact(names) {
		spec := domain.ToolSpec{Name: name, Schema: json.RawMessage(`{"type":"object"}`), Effect: domain.Idempotent}
		tools = append(tools, tool.FromSpec(spec, r.call))
	}
	return tools
}

// TestRecordedRuns drives recorded runs through the real workflow, every sixth one, or all with
// EVERSTEP_RECORDED=all: the same messages in the same order, right step counts, statuses and answers.
func TestRecordedRuns(t *testing.T) {
	t.Parallel()
	recorded, every := recordedRuns(t), 6
	if everyRecorded() {
		every = 1
	}
	var runs []recordedRun
	for i := 0; i < len(recorded); i += every {
		runs = append(runs, recorded[i])
	}
	if testing.Short() {
		runs = runs[:min(len(runs), 10)]
	}
	replay := &replayer{running: map[string]recordedExecution{}}
	s := start(t, host.Config{Tools: replay.tools(runs)})
	dir := t.TempDir()
	var group errgroup.Group
	group.SetLimit(6)
	var mu sync.Mutex
	executions, inferences := 0, 0
	for _, run := range runs {
		group.Go(func() error {
			e, i, err := s.driveRecorded(t, replay, run, scripted(run.script(t, dir), run.tools()...))
			mu.Lock()
			defer mu.Unlock()
			executions, inferences = executions+e, inferences+i
			if err != nil {
				return fmt.Errorf("run %s: %w", run.ID, err)
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	t.Logf("%d runs, %d executions, %d inferences", len(runs), executions, inferences)
	wanted := [2]int{}
	for _, run := range runs {
		wanted[0], wanted[1] = wanted[0]+len(run.Executions), wanted[1]+run.steps()
	}
	require.Equal(t, wanted, [2]int{executions, inferences}, "all of them were driven")
	require.NotZero(t, executions)
}

// driveRecorded plays one run as a named agent and compares what comes out. Each of its
// executions has the whole patience.
func (s *stack) driveRecorded(t *testing.T, replay *replayer, run recordedRun, definition domain.Definition) (executions, inferences int, err error) {
	t.Helper()
	id := s.named(run.ID)
	definition.SystemPrompt = run.System
	for n, want := range run.Executions {
		ctx := within(t)
		replay.expect(domain.WorkflowID(id), want)
		budget := domain.ExecutionBudget{}
		if want.Cut {
			limit := int64(want.steps())
			budget.MaxSteps = &limit
		}
		if n == 0 {
			_, err = s.agents.Start(ctx, client.Start{ID: id, Prompt: want.Prompt, Definition: definition, Budget: budget})
		} else {
			_, err = s.agents.Send(ctx, id, client.SendOptions{Prompt: want.Prompt, Budget: budget})
		}
		if err != nil {
			return executions, inferences, err
		}
		result, err := s.waits(ctx, id, n+1)
		if err != nil {
			return executions, inferences, err
		}
		if err := compareResult(want, result); err != nil {
			return executions, inferences, fmt.Errorf("execution %d: %w", n+1, err)
		}
		if err := s.audited(ctx, id, n+1); err != nil {
			return executions, inferences, err
		}
		executions, inferences = executions+1, inferences+want.steps()
	}
	return executions, inferences, s.compareTranscript(within(t), id, run)
}

func compareResult(want recordedExecution, got client.Result) error {
	status, reason := domain.StatusCompleted, domain.Completed
	last := want.Messages[len(want.Messages)-1].Content
	if want.Cut {
		status, reason = domain.StatusStopped, domain.StepsLimitReached
		last = ""
		for _, m := range want.Messages {
			if m.Role == "assistant" {
				last = m.Content
			}
		}
	}
	switch {
	case got.Outcome.Status != status || got.Outcome.StopReason != reason:
		return fmt.Errorf("ended %s, %s; want %s, %s (error: %+v)", got.Outcome.Status, got.Outcome.StopReason, status, reason, got.Error) //nolint:errorlint // it may be nil
	case got.Outcome.Steps != want.steps():
		return fmt.Errorf("%d steps; want %d", got.Outcome.Steps, want.steps())
	case got.Answer != last:
		return fmt.Errorf("answer %q; want %q", got.Answer, last)
	}
	return nil
}

// compareTranscript holds the agent's messages against the recording.
func (s *stack) compareTranscript(ctx context.Context, id string, run recordedRun) error {
	var want []recordedMessage
	for _, e := range run.Executions {
		want = append(want, recordedMessage{Role: "user", Content: e.Prompt})
		want = append(want, e.Messages...)
	}
	i := 0
	for entry, err := range s.agents.Messages(ctx, id) {
		if err != nil {
			return err
		}
		if i >= len(want) {
			return fmt.Errorf("more than %d messages", len(want))
		}
		if got := recordedOf(entry.Message); !sameMessage(got, want[i]) {
			return fmt.Errorf("message %d is %+v; want %+v", i, got, want[i])
		}
		i++
	}
	if i != len(want) {
		return fmt.Errorf("%d messages; want %d", i, len(want))
	}
	return nil
}

func recordedOf(m domain.Message) recordedMessage {
	got := recordedMessage{Role: string(m.Role), Content: m.Text()}
	if m.ToolResult != nil {
		got.Content = m.ToolResult.Content
	}
	for _, c := range m.ToolCalls {
		call := recordedCall{ID: c.ID}
		call.Function.Name, call.Function.Arguments = c.Name, c.Arguments
		got.ToolCalls = append(got.ToolCalls, call)
	}
	return got
}

func sameMessage(a, b recordedMessage) bool {
	return a.Role == b.Role && a.Content == b.Content && slices.Equal(a.ToolCalls, b.ToolCalls)
}
