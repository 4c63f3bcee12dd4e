package scripted

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
)

func scriptFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func at(path string, inferenceNumber, attempt int) inference.Call {
	return inference.Call{
		Config:    domain.LLMConfig{Provider: Name, Model: path},
		Messages:  []domain.Message{domain.UserMessage("hello")},
		Inference: inferenceNumber, Attempt: attempt,
	}
}

// play returns what came of a call, and the deltas that told of it.
func play(ctx context.Context, call inference.Call) (inference.Answer, []inference.Delta, error) {
	var deltas []inference.Delta
	answer, err := New().Infer(ctx, call, func(d inference.Delta) { deltas = append(deltas, d) })
	return answer, deltas, err
}

// played is what comes of a call that succeeds.
func played(t *testing.T, call inference.Call) inference.Answer {
	t.Helper()
	answer, _, err := play(t.Context(), call)
	require.NoError(t, err)
	return answer
}

func TestInfer(t *testing.T) {
	t.Parallel()
	path := scriptFile(t, `
turns:
  - {text: one, reasoning: hm, tool_calls: [{name: f, arguments: {x: 1}}], usage: {input_tokens: 5, output_tokens: 6}}
  - {text: two}
  - {}
`)
	call := at(path, 0, 1)
	var sent int
	call.Sent = func() { sent++ }
	answer, deltas, err := play(t.Context(), call)
	require.NoError(t, err)
	require.Equal(t, 1, sent)
	require.Equal(t, domain.Message{
		Role:      domain.RoleAssistant,
		Parts:     []domain.Part{{Type: domain.PartReasoning, Text: "hm"}, {Type: domain.PartText, Text: "one"}},
		ToolCalls: []domain.ToolCall{{ID: "call_0_0", Name: "f", Arguments: `{"x":1}`}},
	}, answer.Message)
	require.Equal(t, domain.Response{ID: "scripted_0", Model: "script.yaml", Finish: domain.FinishToolCalls, Usage: domain.Usage{InputTokens: 5, OutputTokens: 6}}, answer.Response)
	require.Equal(t, []inference.Delta{{Reasoning: "hm"}, {Text: "one"}, {Tool: "f"}}, deltas)

	require.Equal(t, "two", played(t, at(path, 1, 1)).Message.Text())
	require.Empty(t, played(t, at(path, 2, 1)).Message.Parts, "an empty turn is an empty answer")

	_, _, err = play(t.Context(), at(path, 3, 1))
	require.ErrorContains(t, err, path+": has 3 turns, and the conversation is at number 4")
	require.False(t, domain.AsError(err).Kind.Retryable())
	require.False(t, domain.AsError(err).Billed)
}

func TestDelayIsStreamedEvenly(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("é", 100)
	path := scriptFile(t, "turns: [{text: "+text+", delay: 40ms}]")
	start := time.Now()
	answer, deltas, err := play(t.Context(), at(path, 0, 1))
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(start), 40*time.Millisecond)
	require.Len(t, deltas, 20)
	var heard string
	for _, d := range deltas {
		require.Len(t, []rune(d.Text), 5)
		heard += d.Text
	}
	require.Equal(t, text, heard)
	require.Equal(t, text, answer.Message.Text())
}

// TestDelayOfAFewCharacters: no piece of a text is empty, and a turn without a
// text tells of its calls once.
func TestDelayOfAFewCharacters(t *testing.T) {
	t.Parallel()
	path := scriptFile(t, "turns: [{text: ab, tool_calls: [{name: f}], delay: 20ms}, {tool_calls: [{name: f}]}]")
	_, deltas, err := play(t.Context(), at(path, 0, 1))
	require.NoError(t, err)
	require.Equal(t, []inference.Delta{{Text: "a"}, {Text: "b"}, {Tool: "f"}}, deltas)
	_, deltas, err = play(t.Context(), at(path, 1, 1))
	require.NoError(t, err)
	require.Equal(t, []inference.Delta{{Tool: "f"}}, deltas)
}

func TestStopInTheMiddle(t *testing.T) {
	t.Parallel()
	path := scriptFile(t, "turns: [{text: abcdefghijklmnopqrst, tool_calls: [{name: f}], delay: 10m}, {text: x, delay: 20s}]")
	ctx, cancel := context.WithCancelCause(t.Context())
	call := at(path, 0, 1)
	call.Sent = func() { cancel(errors.New("stop")) }
	answer, _, err := play(ctx, call)
	require.ErrorContains(t, err, "stop")
	require.True(t, domain.AsError(err).Billed)
	require.True(t, answer.Partial)
	require.Empty(t, answer.Message.ToolCalls)

	path = scriptFile(t, "turns: [{text: "+strings.Repeat("x", 2000)+", delay: 10s}]")
	ctx, cancel = context.WithCancelCause(t.Context())
	defer cancel(nil)
	var heard string
	answer, err = New().Infer(ctx, at(path, 0, 1), func(d inference.Delta) {
		heard += d.Text
		cancel(errors.New("stop"))
	})
	require.Error(t, err)
	require.NotEmpty(t, heard)
	require.Equal(t, heard, answer.Message.Text(), "what had come is kept")
}

func TestStopInATemplateWithoutEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stop"))
	_, _, err := play(ctx, at(scriptFile(t, "turns: [{text: '{{ range 100000000 }}{{ end }}'}]"), 0, 1))
	require.ErrorContains(t, err, "stop")
	require.False(t, domain.AsError(err).Billed, "nothing was sent")
}

func TestCheckFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	dangling, other := filepath.Join(folder, "a.yaml"), filepath.Join(folder, "b.yaml")
	require.NoError(t, os.Symlink(filepath.Join(folder, "none"), dangling))
	require.NoError(t, os.Mkdir(other, 0o750))
	tests := map[string]struct{ path, want string }{
		"relative": {"a.yaml", "is not an absolute path"},
		"missing":  {filepath.Join(folder, "none.yaml"), "none.yaml: there is no such file that the worker can read"},
		"a link":   {dangling, "there is no such file that the worker can read"},
		"another":  {other, "there is no such file that the worker can read"},
		"no file":  {"/etc/passwd", "its name ends in none of .yaml, .yml, .json, so it is not looked at"},
		"a folder": {folder, "its name ends in none of .yaml, .yml, .json, so it is not looked at"},
		"broken":   {scriptFile(t, "turns:\n  - txet: x"), ":2:5: turns[0].txet: there is no such key"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := New().Check(t.Context(), domain.LLMConfig{Provider: Name, Model: test.path})
			require.ErrorContains(t, err, test.want)
			require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
			require.Equal(t, Name, domain.AsError(err).Source)
		})
	}
}

func TestFileIsReadAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	path, p := scriptFile(t, "turns: [{text: old}]"), New()
	first, err := p.load(path)
	require.NoError(t, err)
	again, err := p.load(path)
	require.NoError(t, err)
	require.Same(t, first, again)
	require.NoError(t, os.WriteFile(path, []byte("turns: [{text: newer}]"), 0o600))
	changed, err := p.load(path)
	require.NoError(t, err)
	require.Equal(t, "newer", changed.turns[0].text.plain)
}

// TestFilesKeptAreBounded: at most so many parsed files are kept, and none
// above a size is read.
func TestFilesKeptAreBounded(t *testing.T) {
	t.Parallel()
	p := New()
	for range maxScripts {
		_, err := p.load(scriptFile(t, "turns: []"))
		require.NoError(t, err)
	}
	require.Len(t, p.scripts, maxScripts)
	_, err := p.load(scriptFile(t, "turns: []"))
	require.NoError(t, err)
	require.Len(t, p.scripts, 1)

	text := "turns: []\n#"
	_, err = p.load(scriptFile(t, text+strings.Repeat("x", maxScript-len(text))))
	require.NoError(t, err)
	_, err = p.load(scriptFile(t, text+strings.Repeat("x", maxScript-len(text)+1)))
	require.Equal(t, domain.TooLarge, domain.AsError(err).Kind)
}

func TestMissingResultNamesTheTurn(t *testing.T) {
	t.Parallel()
	path := scriptFile(t, "turns:\n  - text: x\n  - text: '{{ result \"f\" }}'\n")
	_, _, err := play(t.Context(), at(path, 1, 1))
	require.ErrorContains(t, err, path+`:3: turn 2: error calling result: tool "f" has no result yet`)
	require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
}
