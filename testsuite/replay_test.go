package testsuite_test

import (
	"bytes"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/hook"
	agents "everstep/starter/client"
	"everstep/testsuite"
	"everstep/worker/host"
	"everstep/worker/host/codec"
	"everstep/workflows"
)

var update = flag.Bool("update", false, "record the kept histories anew")

// histories is where the kept histories lie. They are never edited and never
// replaced by a change of the workflow: what they record is running somewhere.
const histories = "testdata/histories"

func kept(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(histories, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "there is no history to replay; record some with -run TestRecordHistories -update")
	return files
}

func newReplayer(t *testing.T) worker.WorkflowReplayer {
	t.Helper()
	compress, err := codec.New()
	require.NoError(t, err)
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DataConverter: compress.DataConverter()})
	require.NoError(t, err)
	return r
}

func readHistory(t *testing.T, path string) *historypb.History {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	history, err := client.HistoryFromJSON(file, client.HistoryJSONOptions{})
	require.NoError(t, err)
	return history
}

// known are the differences between what older workers recorded and what is
// recorded now. What is running somewhere was recorded by either.
func known() []testsuite.Known {
	const newestStays = "the newest step goes along, so that rules of stopping can read it; it was folded with the others"
	return []testsuite.Known{
		{Of: "carry", Path: "/carry/state/execution/tool_calls", Why: "what an execution has used is in its state"},
		{Of: "carry", Path: "/carry/newest_role", Why: "an execution that goes on in a later run is told to go on only after an answer"},
		{Of: "activity agent.CallHook", Path: "/tool_execution_id", Why: "events name the call that a hook is about"},
		{Of: "carry", Path: "/carry/event_sequence", Why: "events are numbered over all runs"},
		{Of: "carry", Path: "/carry/guarded", Why: "what guards remember goes along"},
		{Of: "carry", Path: "/carry/state/execution/step_executions", Why: newestStays},
		{Of: "carry", Path: "/carry/state/execution/folded/steps", From: "5", To: "4", Why: newestStays},
		{Of: "carry", Path: "/carry/state/execution/folded/usage/input_tokens", From: "50", To: "40", Why: newestStays},
		{Of: "carry", Path: "/carry/state/execution/folded/usage/output_tokens", From: "10", To: "8", Why: newestStays},
	}
}

// TestReplay replays every kept history against the workflow as it is now, and
// compares what the workflow hands on.
func TestReplay(t *testing.T) {
	t.Parallel()
	testsuite.ReplayFiles(t, filepath.Join(histories, "*.json"), testsuite.ReplayConfig{Hooks: historyHooks(), Known: known()})
}

// TestReplayUnderAnyID replays every kept history without its workflow id:
// agents that began under any id, before that was refused, go on.
func TestReplayUnderAnyID(t *testing.T) {
	t.Parallel()
	for _, path := range kept(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			t.Parallel()
			r := newReplayer(t)
			hooks, err := hook.NewSet(historyHooks()...)
			require.NoError(t, err)
			workflows.Register(r, workflows.Options{Hooks: hooks})
			require.NoError(t, r.ReplayWorkflowHistory(quiet(), readHistory(t, path)))
		})
	}
}

// quiet drops what the SDK logs of an error that is expected: it has a stack
// trace for each history, under which other tests' failures would be lost.
func quiet() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

// TestReplayCatchesAChange changes the workflow's commands and expects every
// history to notice.
func TestReplayCatchesAChange(t *testing.T) {
	t.Parallel()
	for _, path := range kept(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			t.Parallel()
			r := newReplayer(t)
			changed := func(ctx workflow.Context, in domain.SessionInput) (domain.Outcome, error) {
				if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
					return domain.Outcome{}, err
				}
				return workflows.Execute(ctx, in)
			}
			r.RegisterWorkflowWithOptions(changed, workflow.RegisterOptions{Name: string(domain.Execute)})
			require.Error(t, r.ReplayWorkflowHistory(quiet(), readHistory(t, path)))
		})
	}
}

// TestRecordHistories records histories of the kinds that must go on replaying.
func TestRecordHistories(t *testing.T) {
	if !*update {
		t.Skip("histories are recorded with -update only")
	}
	require.NoError(t, os.MkdirAll(histories, 0o750))
	t.Run("plain", func(t *testing.T) {
		s := start(t, host.Config{})
		s.keep(t, "plain", s.ended(t, s.begin(t, "turns: [{text: hello}]")))
	})
	t.Run("foreign", func(t *testing.T) {
		s := start(t, host.Config{})
		refused, _ := s.beginForeign(t, "foreign")
		s.keep(t, "foreign", refused)
	})
	t.Run("parallel-tools", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		s.keep(t, "parallel-tools", s.ended(t, s.begin(t, `
turns:
  - text: 'looking'
    tool_calls: [{name: echo, arguments: {text: a}}, {name: echo, arguments: {text: b}}, {name: nothing, arguments: {}}, {name: echo, arguments: {text: c}}]
  - text: 'done'
`, "echo")))
	})
	t.Run("budget", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		steps := int64(2)
		begun, err := s.agents.Start(within(t), agents.Start{
			Prompt: "go", Definition: scripted(longScript(t, 3, 1), "echo"), Budget: domain.ExecutionBudget{MaxSteps: &steps},
		})
		require.NoError(t, err)
		s.keep(t, "budget", s.ended(t, begun))
	})
	for _, mode := range domain.StopModes() {
		t.Run("stop-"+string(mode), func(t *testing.T) {
			shop := newWorkshop()
			shop.open()
			s := start(t, host.Config{Tools: []tool.Tool{shop.tool(domain.AtMostOnce)}})
			begun := s.begin(t, toolScript, "work")
			s.textSeen(t, begun.ID)
			_, err := s.agents.Stop(within(t), begun.ID, agents.StopOptions{Mode: mode, Within: time.Hour, Reason: "enough"})
			require.NoError(t, err)
			s.keep(t, "stop-"+string(mode), s.ended(t, begun))
		})
	}
	t.Run("session", func(t *testing.T) {
		s := start(t, host.Config{})
		begun, err := s.agents.Start(within(t), agents.Start{
			ID: "kept", Prompt: "go", Definition: scripted(writeScript(t, "turns: [{text: one}, {text: two}]")),
		})
		require.NoError(t, err)
		s.ended(t, begun)
		second, err := s.agents.Send(within(t), "kept", agents.SendOptions{Prompt: "more"})
		require.NoError(t, err)
		s.ended(t, second)
		_, err = s.agents.Close(within(t), "kept")
		require.NoError(t, err)
		s.keep(t, "session", second)
	})
	t.Run("worker-shutdown", func(t *testing.T) {
		s := connect(t, "plain", nil)
		first := s.work(t, host.Config{})
		begun := s.begin(t, "turns: [{text: 'one two three four five six seven eight', delay: 2s}]")
		s.textSeen(t, begun.ID)
		first.Stop()
		second := s.work(t, host.Config{})
		defer second.Stop()
		s.keep(t, "worker-shutdown", s.ended(t, begun))
	})
	recordAgents(t)
	t.Run("continue-as-new", func(t *testing.T) {
		s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo()}})
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: scripted(longScript(t, 15, 1), "echo")})
		require.NoError(t, err)
		s.keep(t, "continue-as-new-first", begun)
		last := s.ended(t, begun)
		last.RunID = ""
		s.keep(t, "continue-as-new-last", last)
	})
}

// ended waits for an execution.
func (s *stack) ended(t *testing.T, begun agents.Execution) agents.Execution {
	t.Helper()
	_, err := s.agents.Wait(within(t), begun.ID, begun.Number)
	require.NoError(t, err)
	return begun
}

// keep writes a run's history, once it is closed.
func (s *stack) keep(t *testing.T, name string, of agents.Execution) {
	t.Helper()
	history := &historypb.History{}
	events := s.temporal.GetWorkflowHistory(within(t), of.WorkflowID, of.RunID, true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		history.Events = append(history.Events, event)
		if event.GetWorkflowExecutionContinuedAsNewEventAttributes() != nil {
			break
		}
	}
	encoded, err := protojson.Marshal(history)
	require.NoError(t, err)
	machine, err := os.Hostname()
	require.NoError(t, err)
	encoded = bytes.ReplaceAll(encoded, []byte(machine), []byte("machine"))
	require.NoError(t, os.WriteFile(filepath.Join(histories, name+".json"), encoded, 0o600))
}
