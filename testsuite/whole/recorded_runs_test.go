package whole_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// A replayer answers tool calls as the recordings did: by agent, execution, step and position. What is expected lies in
// files, for workers that are processes of their own.
type replayer struct{ dir string }

func newReplayer(t testing.TB) replayer {
	t.Helper()
	return replayer{t.TempDir()}
}

// expect has the calls of an agent's execution in progress answered as the recording was.
func (r replayer) expect(workflowID string, e recordedExecution) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	// In one piece, whoever reads it meanwhile.
	path := r.path(workflowID)
	return cmp.Or(os.WriteFile(path+".new", text, 0o600), os.Rename(path+".new", path))
}

func (r replayer) path(workflowID string) string {
	return filepath.Join(r.dir, url.PathEscape(workflowID))
}

func (r replayer) call(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
	at, ok := tool.ExecutionOf(ctx)
	if !ok {
		return tool.Result{}, fmt.Errorf("the call does not know its execution")
	}
	var execution recordedExecution
	text, err := os.ReadFile(r.path(activity.GetInfo(ctx).WorkflowExecution.ID))
	if err := cmp.Or(err, json.Unmarshal(text, &execution)); err != nil {
		return tool.Result{}, err
	}
	content, ok := execution.result(at.Step, at.Position)
	if !ok {
		return tool.Result{}, fmt.Errorf("nothing was recorded for step %d, call %d", at.Step, at.Position)
	}
	return tool.Result{Content: content}, nil
}

// tools are all that the runs call, idempotent and with any arguments.
func (r replayer) tools(runs []recordedRun) []tool.Tool { return r.named(toolsOf(runs)) }

// toolsOf are the names of all that runs call, in order.
func toolsOf(runs []recordedRun) (names []string) {
	for _, run := range runs {
		names = append(names, run.tools()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (r replayer) named(names []string) (tools []tool.Tool) {
	for _, name := range names {
		spec := domain.ToolSpec{Name: name, Schema: json.RawMessage(`{"type":"object"}`), Effect: domain.Idempotent}
		tools = append(tools, tool.FromSpec(spec, r.call))
	}
	return tools
}

// TestRecordedRuns drives recorded runs through the real workflow, every sixth one, or all with
// EVERSTEP_RECORDED=all: the same messages in the same order, right step counts, statuses and answers. Every other one has
// every guard on, at limits that none of its executions reaches.
func TestRecordedRuns(t *testing.T) {
	t.Parallel()
	recorded, every := recordedRuns(t), 6
	if everyRecorded() {
		every = 1
	}
	var runs []recordedRun
	for i := 0; i < len(recorded); i += every {
		run := recorded[i]
		if len(runs)%2 == 1 {
			run = run.finished()
		}
		runs = append(runs, run)
	}
	if testing.Short() {
		runs = runs[:min(len(runs), 10)]
	}
	replay := newReplayer(t)
	s := startCompared(t, "plain", nil, host.Config{Tools: replay.tools(runs)})
	dir := t.TempDir()
	var group errgroup.Group
	group.SetLimit(6)
	var mu sync.Mutex
	executions, inferences := 0, 0
	for n, run := range runs {
		group.Go(func() error {
			definition := scripted(run.script(t, dir), run.tools()...)
			if n%2 == 1 {
				guarded := limited(run.mostly())
				definition.Model.Price, definition.Guards, definition.Budget = guarded.Model.Price, guarded.Guards, guarded.Budget
				definition.Guards.FinalAnswer, definition.Guards.OutputRetries = true, new(0)
			}
			e, i, err := s.driveRecorded(t, replay, run, definition)
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

// mostly is a budget that none of the run's executions reaches.
func (r recordedRun) mostly() domain.ExecutionBudget {
	steps, calls := 0, 0
	for _, e := range r.Executions {
		asked := 0
		for _, m := range e.Messages {
			asked += len(m.ToolCalls)
		}
		steps, calls = max(steps, e.steps()), max(calls, asked)
	}
	return domain.ExecutionBudget{
		MaxSteps: new(int64(steps + 1)), MaxToolCalls: new(int64(calls + 1)), MaxTokens: new(int64(50_000)),
		MaxCostNanoUSD: new(int64(500_000_000)), MaxSeconds: new(600.0), Deadline: new(time.Now().Add(time.Hour)),
	}
}

// driveRecorded plays one run as a named agent and compares what comes out. Each of its
// executions has the whole patience.
func (s *stack) driveRecorded(t *testing.T, replay replayer, run recordedRun, definition domain.Definition) (executions, inferences int, err error) {
	t.Helper()
	id := s.named(run.ID)
	definition.SystemPrompt = run.System
	for n, want := range run.Executions {
		ctx, opens := within(t), &definition
		if n > 0 {
			opens = nil
		}
		if err = s.tell(ctx, replay, id, want, opens); err == nil {
			err = s.heard(ctx, id, n+1, want)
		}
		if err != nil {
			return executions, inferences, err
		}
		executions, inferences = executions+1, inferences+want.steps()
	}
	return executions, inferences, s.compareTranscript(within(t), id, run)
}

// tell has the agent begin an execution of a recording: with a definition its first, else the next.
func (s *stack) tell(ctx context.Context, replay replayer, id string, want recordedExecution, definition *domain.Definition) error {
	budget := domain.Unlimited()
	if want.Cut {
		budget = domain.ExecutionBudget{MaxSteps: new(int64(want.steps()))}
	}
	err := replay.expect(domain.WorkflowID(id), want)
	switch {
	case err != nil:
	case definition != nil:
		_, err = s.agents.Start(ctx, client.Start{ID: id, Prompt: want.Prompt, Definition: *definition, Budget: budget})
	default:
		_, err = s.agents.Send(ctx, id, client.SendOptions{Prompt: want.Prompt, Budget: budget})
	}
	return err
}

// heard waits for an execution, and holds it against the recording.
func (s *stack) heard(ctx context.Context, id string, number int, want recordedExecution) error {
	result, err := s.waits(ctx, id, number)
	if err != nil {
		return err
	}
	if err := compareResult(want, result); err != nil {
		return fmt.Errorf("execution %d: %w", number, err)
	}
	return nil
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

// said is all that a run has, in order.
func (r recordedRun) said() (all []recordedMessage) {
	for _, e := range r.Executions {
		all = append(append(all, recordedMessage{Role: "user", Content: e.Prompt}), e.Messages...)
	}
	return all
}

// compareTranscript holds the agent's messages against the recording.
func (s *stack) compareTranscript(ctx context.Context, id string, run recordedRun) error {
	want, i := run.said(), 0
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
