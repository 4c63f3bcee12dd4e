package whole_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/testsuite"
)

// TestRecordedRunsAreGivenCut: each recorded run is played whole, as a session that says what was recorded, and again from
// each of its turns, with what was said before it given as `messages --json` writes it. The model is asked for the same.
func TestRecordedRunsAreGivenCut(t *testing.T) {
	t.Parallel()
	cuts := 0
	for n, run := range recordedRuns(t) {
		if testing.Short() && n >= 10 {
			break
		}
		compiler := domain.Compilers()[n%2] // what was a trace is shown, or not
		whole := playedFrom(t, run, 0, compiler, nil)
		requireBegins(t, run.said(), whole.Messages)
		require.Len(t, whole.Messages, len(run.finished().said()))
		asked, said := 0, 0
		for k, e := range run.Executions {
			if k > 0 {
				var lines bytes.Buffer
				for i, m := range whole.Messages[:said] {
					require.NoError(t, json.NewEncoder(&lines).Encode(domain.Entry{Index: i, Message: m}))
				}
				given, err := client.ReadMessages(lines.Bytes())
				require.NoError(t, err, run.ID)
				cut := playedFrom(t, run, k, compiler, given)
				require.Equal(t, bare(whole.Asked[asked].Messages), bare(cut.Asked[0].Messages), "run %s, turn %d", run.ID, k)
				require.Equal(t, cut.Asked[0].Messages, cut.Shown(cut.Executions[0].Steps[0].Step), "its step names them")
				cuts++
			}
			asked, said = asked+e.steps(), said+1+len(e.Messages)
			if e.Cut {
				asked, said = asked+1, said+1
			}
		}
		require.Equal(t, len(whole.Asked), asked)
	}
	if cuts == 0 {
		t.Skip("no run has a second turn: nothing was cut")
	}
	t.Logf("%d cuts", cuts)
}

// playedFrom plays a run from one of its turns on; all of them, where it is the first, else that one alone.
func playedFrom(t *testing.T, run recordedRun, from int, compiler domain.Compiler, given []domain.Entry) testsuite.Run {
	t.Helper()
	executions := run.Executions[from:]
	if from > 0 {
		executions = executions[:1]
	}
	config := testsuite.Config{Definition: domain.Definition{SystemPrompt: run.System, Compiler: compiler}, Messages: given}
	script := recordedRun{ID: run.ID}
	var events []testsuite.Event
	for k, e := range executions {
		if k > 0 {
			events = append(events, testsuite.SendAt(time.Duration(k)*time.Hour, e.Prompt))
		}
		if e.Cut { // what came next was not recorded
			e.Messages = append(slices.Clip(e.Messages), recordedMessage{Role: "assistant", Content: "cut"})
		}
		script.Executions = append(script.Executions, e)
	}
	text, err := os.ReadFile(script.script(t, t.TempDir()))
	require.NoError(t, err)
	config.Script = string(text)
	var mu sync.Mutex
	var began []domain.ExecutionID
	answer := func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
		at, _ := tool.ExecutionOf(ctx)
		mu.Lock()
		defer mu.Unlock()
		k := slices.Index(began, at.ExecutionID)
		if k < 0 {
			k, began = len(began), append(began, at.ExecutionID)
		}
		content, _ := withTools(executions)[k].result(at.Step, at.Position)
		return tool.Result{Content: content}, nil
	}
	for _, name := range run.tools() {
		spec := domain.ToolSpec{Name: name, Schema: json.RawMessage(`{"type":"object"}`), Effect: domain.ReadOnly}
		config.Tools = append(config.Tools, tool.FromSpec(spec, answer))
	}
	return testsuite.New(t, config).Run(executions[0].Prompt, events...)
}

// withTools are the executions that call tools.
func withTools(executions []recordedExecution) []recordedExecution {
	return slices.DeleteFunc(slices.Clone(executions), func(e recordedExecution) bool {
		return !slices.ContainsFunc(e.Messages, func(m recordedMessage) bool { return len(m.ToolCalls) > 0 })
	})
}

// bare are messages without what is said of them only.
func bare(messages []domain.Message) []domain.Message {
	all := make([]domain.Message, len(messages))
	for i, m := range messages {
		all[i] = domain.Message{Role: m.Role, Parts: m.Parts, ToolCalls: m.ToolCalls, ToolResult: m.ToolResult, Name: m.Name}
	}
	return all
}
