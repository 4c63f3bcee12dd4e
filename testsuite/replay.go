package testsuite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/worker/host/codec"
	"everstep/workflows"
)

// maxDifferences is how many a failure shows.
const maxDifferences = 5

// Replay replays a history and fails where the workflow would now do something
// else than it did: where Temporal's replayer would refuse it, and where what it
// hands on differs from what the history recorded: the input of an activity, of
// a child workflow or of a signal to another workflow, the reply of a hook, the
// duration of a timer, the memo, the search attributes, the carry of a run into its successor, the
// result. Temporal's replayer compares none of these; an execution under way
// would go on with the wrong ones.
//
// It runs no hook: what each wanted is recorded, and so are tools, providers and
// compilers, which work in activities. A hook of another order or name is noticed.
//
// They are compared as JSON, whatever compressed them, but for local activities,
// whose inputs no history has. A history may be of an execution that is still open;
// what it does not reach is not compared.
//
// A failure names the event, its type, and the place in its JSON.
func Replay(t testing.TB, history *historypb.History) {
	t.Helper()
	if wrong := replayed(history); wrong != "" {
		t.Errorf("testsuite: Replay: %s", wrong)
	}
}

// ReplayFiles replays each file that the pattern of [filepath.Glob] finds, as a
// test of its own. The files hold histories as JSON, as they come from "temporal
// workflow show --output json". A pattern that finds none
// fails.
func ReplayFiles(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatalf("testsuite: ReplayFiles: %v", err)
	}
	if len(files) == 0 {
		t.Fatalf("testsuite: ReplayFiles: there is no history at %s", pattern)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("testsuite: ReplayFiles: %v", err)
			}
			history, err := client.HistoryFromJSON(bytes.NewReader(data), client.HistoryJSONOptions{})
			if err != nil {
				t.Fatalf("testsuite: ReplayFiles: read %s: %v", path, err)
			}
			if wrong := replayed(history); wrong != "" {
				t.Fatalf("testsuite: ReplayFiles: %s: %s", path, wrong)
			}
		})
	}
}

// replay says what is wrong, or nothing.
func replayed(history *historypb.History) string {
	watched := &replayWatch{reader: payloadReader{codec.New().DataConverter()}, replies: map[string]string{}}
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: watched.reader.converter,
		Interceptors:  []interceptor.WorkerInterceptor{watched},
		// Whoever looks for a difference with a debugger takes longer.
		DisableDeadlockDetection: true,
	})
	if err != nil {
		return err.Error()
	}
	workflows.Register(replayer, workflows.Options{})
	recorded, finished, err := watched.reader.recorded(history)
	if err != nil {
		return err.Error()
	}
	started := history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	refused := replayer.ReplayWorkflowHistoryWithOptions(silent, history, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()},
	})
	if watched.failed != nil {
		return watched.failed.Error()
	}
	var lines []string
	for _, d := range compare(recorded, watched.done, finished) {
		lines = append(lines, d.String())
	}
	if len(lines) > maxDifferences {
		lines = append(lines[:maxDifferences], fmt.Sprintf("and %d more", len(lines)-maxDifferences))
	}
	if refused != nil {
		lines = append(lines, "Temporal's replayer: "+shortened(strings.Join(strings.Fields(refused.Error()), " "), 300))
	}
	if len(lines) == 0 {
		return ""
	}
	return "the workflow would not do again what is recorded:\n  " + strings.Join(lines, "\n  ")
}
