package domain_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// hostile is a folder of inputs that break programs. The tests that need it are
// skipped where EVERSTEP_DATA does not say where it is.
func hostile(t *testing.T, folder string) string {
	t.Helper()
	data := os.Getenv("EVERSTEP_DATA")
	if data == "" {
		t.Skip("EVERSTEP_DATA is not set: the hostile inputs are not tested")
	}
	return filepath.Join(data, "hostile", folder)
}

// TestNaughtyStrings sends each string through everything that holds text.
func TestNaughtyStrings(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(hostile(t, "blns"), "blns.json"))
	require.NoError(t, err)
	var naughty []string
	require.NoError(t, json.Unmarshal(data, &naughty))
	require.Greater(t, len(naughty), 400)
	for i, text := range naughty {
		if err := domain.CheckAgentName(text); err == nil {
			require.NotContains(t, domain.WorkflowID(text)[len(domain.WorkflowIDPrefix):], "/")
		}
		if err := domain.CheckPrompt(text); err != nil {
			require.Empty(t, strings.TrimSpace(text), "only a blank prompt is refused")
		}
		step := toolStep(executionID(1), 1)
		step.Output[0].Parts[1].Text, step.Output[0].ToolCalls[0].Arguments = text, text
		step.ToolExecutions[0].Value, step.ToolExecutions[0].Call.Name = text, text
		s := withStep(begunState(), step).WithUserMessage(executionID(1).Prompt(), text, after(i))
		s = must(s.WithStopSignal(domain.StopSignal{Reason: domain.StopRequested, Message: text, Source: text}, after(i)))
		note, err := json.Marshal(text)
		require.NoError(t, err)
		s = must(s.WithMetadata(text, note, after(i)))
		s = must(s.WithMessages("section "+text, nil, after(i)))
		again, err := domain.DecodeAgentState([]byte(encoded(t, s)))
		require.NoError(t, err)
		require.Equal(t, s, again)
		messages := again.Messages()
		require.Equal(t, text, messages[len(messages)-1].Text())
	}
}

// TestHostileJSON gives JSON that parsers disagree about to all that takes raw
// JSON: what is taken reads back equal, the rest is refused.
func TestHostileJSON(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(hostile(t, "JSONTestSuite"), "test_parsing", "*.json"))
	require.NoError(t, err)
	require.Greater(t, len(files), 200)
	taken := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := begunState().WithMetadata("raw", raw, noon)
		require.Equal(t, json.Valid(raw), err == nil, file)
		if err == nil {
			taken++
		}
		if utf8.Valid(raw) {
			step := toolStep(executionID(1), 1)
			step.Output[0].ToolCalls[0].Arguments = string(raw)
			s = withStep(s, step)
		}
		again, err := domain.DecodeAgentState([]byte(encoded(t, s)))
		require.NoError(t, err, file)
		require.Equal(t, s, again, file)
		_, err = domain.DecodeAgentState(raw)
		require.Error(t, err, file)
		_, _ = domain.Decode[domain.ExecutionRecord](raw)
	}
	require.Greater(t, taken, 90)
}
