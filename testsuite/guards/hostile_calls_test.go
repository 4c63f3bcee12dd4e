package guards_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/testsuite"
)

// hostileTexts are texts that break programs and JSON that parsers disagree about: those of EVERSTEP_DATA, else a few.
func hostileTexts(t *testing.T) []string {
	t.Helper()
	few := []string{" ", "\x00", "a\nb", "\u202e", "\x1b[2J", "SEND", "send ", "send\u200b", "ｓend", "to", "TO", "To", "ｔｏ", "../send", "{{ . }}", "{", `{"to":"ann"`, `{"to":"ann","to":"eve"}`, `{"to":"eve","to":"ann"}`, `{"to":"ann","To":"eve"}`, `{"to":"ann"} {"to":"eve"}`, `["to"]`, "null", `{"to":null}`, `{"to":"ann\ud800"}`, strings.Repeat("a", 10_000)}
	folder := os.Getenv("EVERSTEP_DATA")
	if folder == "" {
		t.Log("EVERSTEP_DATA is not set: of the hostile inputs only a few are tried")
		return few
	}
	text, err := os.ReadFile(filepath.Join(folder, "hostile", "blns", "blns.json"))
	require.NoError(t, err)
	var all []string
	require.NoError(t, json.Unmarshal(text, &all))
	files, err := filepath.Glob(filepath.Join(folder, "hostile", "JSONTestSuite", "test_parsing", "*.json"))
	require.NoError(t, err)
	require.Greater(t, len(all)+len(files), 800)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if utf8.Valid(text) && len(text) < 50_000 { // what a model says is text
			all = append(all, string(text))
		}
	}
	return append(few, all...)
}

// TestHostileCalls: a model calls tools by hostile names and with hostile arguments. Each call has its result, in its place;
// none runs but what the rules allow, and that with the arguments that they have seen.
func TestHostileCalls(t *testing.T) {
	t.Parallel()
	send := testsuite.NewFake(domain.ToolSpec{Name: "send", Effect: domain.Keyed, Schema: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`)}, testsuite.Returns("sent"))
	look := testsuite.NewFake(domain.ToolSpec{Name: "look", Effect: domain.ReadOnly}, testsuite.Returns("seen"))
	var calls []testsuite.Call
	for _, text := range hostileTexts(t) {
		if text == "" {
			continue // arguments that are no text at all are an empty object
		}
		key, err := json.Marshal(text)
		require.NoError(t, err)
		calls = append(calls,
			testsuite.Call{Name: text, Arguments: "{}"}, testsuite.Call{Name: "send", Arguments: text}, testsuite.Call{Name: "look", Arguments: text},
			testsuite.Call{Name: "send", Arguments: `{"to":` + string(key) + `}`}, testsuite.Call{Name: "send", Arguments: `{"to":"ann",` + string(key) + `:"eve"}`})
	}
	var turns []testsuite.Turn
	for some := range slices.Chunk(calls, 100) {
		turns = append(turns, testsuite.Turn{Calls: some})
	}
	env := testsuite.New(t, testsuite.Config{
		Definition: domain.Definition{Approvals: &domain.Approvals{Rules: []domain.ApprovalRule{
			{Tool: "send", Arguments: map[string]json.RawMessage{"to": json.RawMessage(`"ann"`)}, Then: domain.Allow}, {Tool: "look", Then: domain.Allow}, {Then: domain.Deny},
		}}},
		Tools: []tool.Tool{send.Tool(), look.Tool()}, Turns: append(turns, testsuite.Turn{Text: "done"}),
	})
	run := env.Run("go")
	require.Equal(t, domain.StatusCompleted, run.Outcome.Status, "%v", run.Error)
	require.Len(t, run.Steps, len(turns)+1)
	at := 0
	for _, step := range run.Steps {
		for _, call := range step.Step.ToolExecutions {
			require.Equal(t, calls[at].Name, call.Name())
			if calls[at].Name != "send" && calls[at].Name != "look" {
				require.NotNil(t, call.Error, "%q", calls[at].Name)
				require.False(t, call.Outcome().Ran(), "%q", calls[at].Name)
			}
			require.True(t, call.Error != nil || call.Value != "", "%q", calls[at])
			at++
		}
	}
	require.Len(t, calls, at)
	require.NotEmpty(t, send.Calls())
	for _, call := range send.Calls() {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(call.Arguments), &fields), "%q", call.Arguments)
		for key, value := range fields {
			require.True(t, !strings.EqualFold(key, "to") || key == "to" && value == "ann", "%q", call.Arguments)
		}
		require.Equal(t, 1, strings.Count(call.Arguments, `"to":`), "%q", call.Arguments)
	}
}
