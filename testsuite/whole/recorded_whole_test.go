package whole_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/hook"
	"everstep/testsuite"
	"everstep/testsuite/internal/kept"
)

// A wholeRun is a recorded chat as one long execution: a hook says the next
// message of the user where the model would have ended.
type wholeRun struct {
	id, system, prompt string
	// toolNames are what the recording calls, also where a step is changed.
	toolNames []string
	steps     []recordedStep
}

// A recordedStep is one inference and what followed it.
type recordedStep struct {
	text    string
	calls   []recordedCall
	results []string
	// user is what the user said next, where that ended the recorded execution.
	user string
	// usage is what the model reports. Nothing of that was recorded: it is
	// reckoned from the recorded bytes.
	usage domain.Usage
	// finish is why the model ended. Empty: as a script says.
	finish domain.FinishReason
}

// finished is the run with an answer at its end, where the recording ends on a
// tool's result: so that it completes.
func (r recordedRun) finished() recordedRun {
	last := len(r.Executions) - 1
	if !r.Executions[last].Cut {
		return r
	}
	r.Executions = slices.Clone(r.Executions)
	e := &r.Executions[last]
	e.Messages = append(slices.Clip(e.Messages), recordedMessage{Role: "assistant", Content: "That is all."})
	e.Cut = false
	return r
}

// whole makes a run one execution. The model counts so many tokens for a
// hundred bytes.
func (r recordedRun) whole(tokens int) wholeRun {
	r = r.finished()
	w := wholeRun{id: r.ID, system: r.System, prompt: r.Executions[0].Prompt, toolNames: slices.Sorted(slices.Values(r.tools()))}
	for n, e := range r.Executions {
		if n > 0 {
			w.steps[len(w.steps)-1].user = e.Prompt
		}
		w.steps = append(w.steps, e.steps()...)
	}
	return w.counted(tokens)
}

// counted says what the model reports of each step: what it reads grows with
// the conversation, and what it has read before comes from a cache.
func (w wholeRun) counted(tokens int) wholeRun {
	read, before := len(w.system)+len(w.prompt), int64(0)
	w.steps = slices.Clone(w.steps)
	for i, s := range w.steps {
		said := len(s.text)
		for _, c := range s.calls {
			said += len(c.Function.Name) + len(c.Function.Arguments)
		}
		w.steps[i].usage = domain.Usage{
			InputTokens: int64(read * tokens / 100), OutputTokens: int64(said*tokens/100) + 1, CacheReadTokens: before / 128 * 128,
		}
		before = w.steps[i].usage.InputTokens
		read += said + len(s.user)
		for _, result := range s.results {
			read += len(result)
		}
	}
	return w
}

// scriptOf is what the model says, step by step.
func scriptOf(t testing.TB, steps []recordedStep) string {
	t.Helper()
	type call struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	type turn struct {
		Text   string              `json:"text,omitempty"`
		Calls  []call              `json:"tool_calls,omitempty"`
		Usage  map[string]int64    `json:"usage,omitempty"`
		Finish domain.FinishReason `json:"finish_reason,omitempty"`
	}
	turns := []turn{}
	for _, s := range steps {
		next := turn{Text: s.text, Finish: s.finish}
		if !s.usage.IsZero() {
			next.Usage = map[string]int64{
				"input_tokens": s.usage.InputTokens, "output_tokens": s.usage.OutputTokens, "cache_read_tokens": s.usage.CacheReadTokens,
			}
		}
		for _, c := range s.calls {
			next.Calls = append(next.Calls, call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		turns = append(turns, next)
	}
	encoded, err := json.Marshal(map[string]any{"turns": turns})
	require.NoError(t, err)
	return string(encoded)
}

// anySchema takes any object.
const anySchema = `{"type":"object"}`

// tools answer as they did in the recording.
func (w wholeRun) tools() []tool.Tool {
	answer := func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
		at, _ := tool.ExecutionOf(ctx)
		if at.Step < 1 || at.Step > len(w.steps) || at.Position >= len(w.steps[at.Step-1].results) {
			return tool.Result{}, fmt.Errorf("nothing was recorded for step %d, call %d", at.Step, at.Position)
		}
		return tool.Result{Content: w.steps[at.Step-1].results[at.Position]}, nil
	}
	var tools []tool.Tool
	for _, name := range w.toolNames {
		tools = append(tools, tool.FromSpec(domain.ToolSpec{Name: name, Schema: json.RawMessage(anySchema), Effect: domain.Idempotent}, answer))
	}
	return tools
}

// user is the hook that says what the user said, after the step that it followed.
func (w wholeRun) user() hook.Hook {
	return hook.AfterStep("user of "+w.id, func(c hook.Point) (hook.Point, error) {
		at := int(c.State.Execution.ExecutionCounts.Prior.Steps) + c.State.StepCount() // the step in progress is not counted
		if at >= len(w.steps) || w.steps[at].user == "" {
			return c, nil
		}
		return c.Say(domain.RoleUser, w.steps[at].user).Continue(), nil
	})
}

// play runs it in memory, as an agent that is otherwise as defined. The hooks
// are for all agents.
func (w wholeRun) play(t *testing.T, definition domain.Definition, hooks ...hook.Hook) testsuite.Run {
	t.Helper()
	definition.SystemPrompt = w.system
	user := w.user()
	definition.Hooks = []string{user.Name}
	got := w.env(t, definition, append(hooks, user)...).Run(w.prompt)
	kept.CheckInputs(t, got)
	return got
}

func (w wholeRun) env(t *testing.T, definition domain.Definition, hooks ...hook.Hook) *testsuite.Env {
	t.Helper()
	return testsuite.New(t, testsuite.Config{Definition: definition, Script: scriptOf(t, w.steps), Tools: w.tools(), Hooks: hooks})
}

// messages are what the conversation holds after so many steps.
func (w wholeRun) messages(steps int) []recordedMessage {
	all := []recordedMessage{{Role: "user", Content: w.prompt}}
	for _, s := range w.steps[:steps] {
		all = append(all, recordedMessage{Role: "assistant", Content: s.text, ToolCalls: s.calls})
		for _, result := range s.results {
			all = append(all, recordedMessage{Role: "tool", Content: result})
		}
		if s.user != "" {
			all = append(all, recordedMessage{Role: "user", Content: s.user})
		}
	}
	return all
}

// requireBegins holds a conversation against what it has to begin with.
func requireBegins(t *testing.T, want []recordedMessage, got []domain.Message) {
	t.Helper()
	require.GreaterOrEqual(t, len(got), len(want))
	for i := range want {
		require.True(t, sameMessage(recordedOf(got[i]), want[i]), "message %d is %+v; want %+v", i, recordedOf(got[i]), want[i])
	}
}
