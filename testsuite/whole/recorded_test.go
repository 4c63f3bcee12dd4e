package whole_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A recordedRun is a real model's run: a chat of several executions.
type recordedRun struct {
	ID         string
	System     string
	Executions []recordedExecution
}

// A recordedExecution is what followed one message of the user.
type recordedExecution struct {
	Prompt string
	// Messages are the assistant's and the tools', in order.
	Messages []recordedMessage
	// Cut says that the recording ends on a tool's result.
	Cut bool
}

type recordedMessage struct {
	Role      string         `json:"role"`
	Content   string         `json:"content"`
	ToolCalls []recordedCall `json:"tool_calls"`
}

type recordedCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// steps are the execution's inferences, each with the results of its calls.
func (e recordedExecution) steps() (steps []recordedStep) {
	for _, m := range e.Messages {
		if m.Role == "assistant" {
			steps = append(steps, recordedStep{text: m.Content, calls: m.ToolCalls})
			continue
		}
		last := &steps[len(steps)-1]
		last.results = append(last.results, m.Content)
	}
	return steps
}

// tools lists the tools that the run calls.
func (r recordedRun) tools() []string {
	var names []string
	seen := map[string]bool{}
	for _, e := range r.Executions {
		for _, m := range e.Messages {
			for _, c := range m.ToolCalls {
				if !seen[c.Function.Name] {
					seen[c.Function.Name] = true
					names = append(names, c.Function.Name)
				}
			}
		}
	}
	return names
}

// dataFolder is the folder of recordings, or the test is skipped aloud.
func dataFolder(t testing.TB) string {
	t.Helper()
	folder := os.Getenv("EVERSTEP_DATA")
	if folder == "" {
		t.Skip("EVERSTEP_DATA is not set: the recorded runs are not tested")
	}
	return folder
}

// recordedRuns reads agent-runs.jsonl.gz.
func recordedRuns(t testing.TB) []recordedRun {
	t.Helper()
	file, err := os.Open(filepath.Join(dataFolder(t), "agent-runs.jsonl.gz"))
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	var runs []recordedRun
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line struct {
			ID       string            `json:"id"`
			Messages []recordedMessage `json:"messages"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
		runs = append(runs, runOf(line.ID, line.Messages))
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, runs)
	return runs
}

// repeated are at least so many runs, those that there are again and again: what a test draws is another thing each
// time, so that what it has to meet does not hang on how many there are.
func repeated(runs []recordedRun, least int) []recordedRun {
	all := slices.Clone(runs)
	for i := 0; len(all) < least; i++ {
		all = append(all, runs[i%len(runs)])
	}
	return all
}

// everyRecorded reports whether tests take every recorded run, and in each way. That takes longer than the gate has.
func everyRecorded() bool { return os.Getenv("EVERSTEP_RECORDED") == "all" }

// enough is how many runs meet all that draws can bring.
const enough = 40

// runOf splits a recording at the user's messages. A message that nothing
// followed is left out.
func runOf(id string, messages []recordedMessage) recordedRun {
	run := recordedRun{ID: id}
	for _, m := range messages {
		switch m.Role {
		case "system":
			run.System = m.Content
		case "user":
			run.Executions = append(run.Executions, recordedExecution{Prompt: m.Content})
		default:
			last := &run.Executions[len(run.Executions)-1]
			last.Messages = append(last.Messages, m)
		}
	}
	kept := run.Executions[:0]
	for _, e := range run.Executions {
		if n := len(e.Messages); n > 0 {
			e.Cut = e.Messages[n-1].Role == "tool"
			kept = append(kept, e)
		}
	}
	run.Executions = kept
	return run
}
