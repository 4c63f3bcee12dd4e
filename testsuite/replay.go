package testsuite

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/domain/hook"
	"everstep/worker/host/codec"
	"everstep/workflows"
)

// ReplayConfig is what a history is replayed with. Its zero value replays the
// workflow as a worker without hooks runs it.
//
// Tools, providers and compilers are not here: they work in activities, whose
// results the history holds.
type ReplayConfig struct {
	// Hooks are those that the worker has, in each version that the histories use.
	Hooks []hook.Hook
	// Known are the differences that may be there.
	Known []Known
}

// Known is a difference that does no harm: a field that workers write now and
// did not when a history was recorded, or, with From and To, one value that they
// write otherwise.
type Known struct {
	// Of is what has the value ("activity agent.CallModel", "carry"), and Path where
	// it is, both as a failure names it. The segment * stands for any key or index:
	// "/segments/*/bytes".
	Of, Path string
	// From and To are what is recorded and what is written now, as JSON. Both
	// empty: an added field, whatever it holds. A From of * is whatever is recorded.
	From, To string
	// Why says what came with it.
	Why string
}

// maxDifferences is how many a failure shows.
const maxDifferences = 5

// Replay replays a history and fails where the workflow would now do something
// else than it did: where Temporal's replayer would refuse it, and where what it
// hands on differs from what the history recorded: the input of an activity, of
// a child workflow or of a signal to another workflow, the duration of a timer,
// the memo, the search attributes, the carry of a run into its successor, the
// result. Temporal's replayer compares none of these; an execution under way
// would go on with the wrong ones.
//
// They are compared as JSON, whatever compressed them, but for local activities,
// whose inputs no history has. A history may be of an execution that is still open;
// what it does not reach is not compared.
//
// A failure names the event, its type, and the place in its JSON.
func Replay(t testing.TB, history *historypb.History, config ReplayConfig) {
	t.Helper()
	met := make([]bool, len(config.Known))
	if wrong := cmp.Or(config.replay(history, met), config.unmet(met)); wrong != "" {
		t.Errorf("testsuite: Replay: %s", wrong)
	}
}

// ReplayFiles replays each file that the pattern of [filepath.Glob] finds, as a
// test of its own. The files hold histories as JSON, as they come from "temporal
// workflow show --output json". Each of Config.Known has to be met by one of
// them at least, and a pattern that finds none fails.
func ReplayFiles(t *testing.T, pattern string, config ReplayConfig) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatalf("testsuite: ReplayFiles: %v", err)
	}
	if len(files) == 0 {
		t.Fatalf("testsuite: ReplayFiles: there is no history at %s", pattern)
	}
	met, passed := make([]bool, len(config.Known)), 0
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
			if wrong := config.replay(history, met); wrong != "" {
				t.Fatalf("testsuite: ReplayFiles: %s: %s", path, wrong)
			}
			passed++
		})
	}
	// With some of them left out by -run, nothing can be said.
	if wrong := config.unmet(met); wrong != "" && passed == len(files) {
		t.Errorf("testsuite: ReplayFiles: %s", wrong)
	}
}

// replay says what is wrong, or nothing, and marks the known differences it met.
func (c ReplayConfig) replay(history *historypb.History, met []bool) string {
	hooks, err := hook.NewSet(c.Hooks...)
	if err != nil {
		return fmt.Sprintf("Hooks: %v", err)
	}
	watched := &replayWatch{reader: payloadReader{codec.New().DataConverter()}}
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: watched.reader.converter,
		Interceptors:  []interceptor.WorkerInterceptor{watched},
		// Whoever looks for a difference with a debugger takes longer.
		DisableDeadlockDetection: true,
	})
	if err != nil {
		return err.Error()
	}
	workflows.Register(replayer, workflows.Options{Hooks: hooks})
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
		if i := slices.IndexFunc(c.Known, func(k Known) bool { return k.covers(d) }); i >= 0 {
			met[i] = true
			continue
		}
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

func (k Known) covers(d difference) bool {
	added := k.From == "" && k.To == "" && d.path != ""
	from := k.From == d.from || k.From == "*" && d.from != ""
	if k.Of != d.of || !from || k.To != d.to && !added {
		return false
	}
	listed, found := strings.Split(k.Path, "/"), strings.Split(d.path, "/")
	return slices.EqualFunc(listed, found, func(l, f string) bool { return l == "*" || l == f })
}

// unmet says which of the known differences have no use or no reason.
func (c ReplayConfig) unmet(met []bool) string {
	for i, known := range c.Known {
		if known.Why == "" {
			return fmt.Sprintf("Known: %s at %s has no reason; say why in Why", known.Of, known.Path)
		}
		if !met[i] {
			return fmt.Sprintf("Known: %s at %s does not differ; take it off the list", known.Of, known.Path)
		}
	}
	return ""
}
