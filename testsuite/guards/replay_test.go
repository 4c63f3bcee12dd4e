package guards_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/testsuite"
	"everstep/testsuite/internal/kept"
	"everstep/worker/host/codec"
	"everstep/workflows"
)

func keptFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(kept.Histories, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "there is no history to replay; record some with -run TestRecordHistories -update")
	return files
}

func newReplayer(t *testing.T) worker.WorkflowReplayer {
	t.Helper()
	compress := codec.New()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: compress.DataConverter(), DisableDeadlockDetection: true, // a busy machine is none
	})
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

// ownTries are of all histories that older workers recorded.
func ownTries() []testsuite.Known {
	return []testsuite.Known{
		{Of: "activity agent.CallTool", Path: "/tries", Why: "the workflow makes a call again, which the server did"},
		{Of: "activity agent.CallModel", Path: "/tries", Why: "the workflow makes an inference again whose worker was lost, which the server did"},
		{Of: "activity agent.CallModel", Path: "/losses", Why: "workers that are lost are counted apart from an inference's own tries"},
	}
}

// known are the differences between what older workers recorded and what is
// recorded now. What is running somewhere was recorded by either.
func known() []testsuite.Known {
	const newestStay = "the newest steps go along, so that rules of stopping and hooks can read them; they were folded"
	return append(append(ownTries(), guessable()...), []testsuite.Known{
		{Of: "carry", Path: "/carry/newest_role", Why: "an execution that goes on in a later run is told to go on only after an answer"},
		{Of: "activity agent.CallHook", Path: "/tool_execution_id", Why: "events name the call that a hook is about"},
		{Of: "carry", Path: "/carry/event_sequence", Why: "events are numbered over all runs"},
		{Of: "carry", Path: "/carry/guarded", Why: "what guards remember goes along"},
		{Of: "carry", Path: "/carry/state/execution/tool_calls", Why: "what an execution has used is in its state"},
		{Of: "carry", Path: "/carry/state/execution/step_executions", Why: newestStay},
		{Of: "carry", Path: "/carry/state/execution/folded", From: `{"steps":5,"usage":{"input_tokens":50,"output_tokens":10}}`, Why: newestStay},
	}...)
}

// guessable is what memos of older workers hold.
func guessable() []testsuite.Known {
	const why = "short texts could be guessed from digests of them, and memos are read by all who list agents"
	return []testsuite.Known{
		{Of: "memo", Path: "/waiting/approvals/*/digest", From: "*", To: `""`, Why: why},
		{Of: "memo", Path: "/waiting/questions/*/digest", From: "*", To: `""`, Why: why},
		{Of: "memo", Path: "/outcome_unknown/*/effect_key", From: "*", To: `""`, Why: why},
	}
}

// TestReplay replays every kept history against the workflow as it is now, and
// compares what the workflow hands on.
func TestReplay(t *testing.T) {
	t.Parallel()
	later := testsuite.Known{Of: "carry", Path: "/carry/messages_from", Why: "a record holds the messages of its execution, and no earlier ones"}
	totals := testsuite.Known{Of: "carry", Path: "/carry/totals", Why: "new totals of a session that come again are answered and not given again"}
	compiler := testsuite.Known{
		Of: "carry", Path: "/carry/state/execution/step_executions/*/input/compiler", From: `"current_trace"`, To: `"whole_conversation"`, Why: "the whole conversation is shown unless a definition says otherwise",
	}
	testsuite.ReplayFiles(t, filepath.Join(kept.Histories, "*.json"), testsuite.ReplayConfig{Hooks: kept.HistoryHooks(), Known: append(known(), later, totals, compiler)})
}

// TestReplayUnderAnyID replays every kept history without its workflow id:
// agents that began under any id, before that was refused, go on.
func TestReplayUnderAnyID(t *testing.T) {
	t.Parallel()
	for _, path := range keptFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			t.Parallel()
			r := newReplayer(t)
			hooks, err := hook.NewSet(kept.HistoryHooks()...)
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
	for _, path := range keptFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			t.Parallel()
			r := newReplayer(t)
			changed := func(ctx workflow.Context, in contract.SessionInput) (contract.Outcome, error) {
				if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
					return contract.Outcome{}, err
				}
				return workflows.Execute(ctx, in)
			}
			r.RegisterWorkflowWithOptions(changed, workflow.RegisterOptions{Name: string(contract.Execute)})
			run := func(ctx workflow.Context, _ contract.ScheduledInput) (contract.ScheduledRun, error) {
				return contract.ScheduledRun{}, workflow.Sleep(ctx, time.Millisecond)
			}
			r.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: string(contract.Scheduled)})
			require.Error(t, r.ReplayWorkflowHistory(quiet(), readHistory(t, path)))
		})
	}
}
