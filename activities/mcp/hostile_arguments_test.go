package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

// hostileTexts are the naughty strings and JSON that parsers disagree about where they are, else a few.
func hostileTexts(t *testing.T) []string {
	t.Helper()
	few := []string{"", " ", "\x00", "a\x00b", "\u2028", "\u202e", "\ufeff", "\x1b[2J", "${trusted.customer}", "${KEY}", "{{ . }}", "\r\n\r\n{}", "{", `{"text":1}`, "null", "[]", `{"text":"a","text":"b"}`, `{"TEXT":"a"}`, `{"text":"\ud800"}`, strings.Repeat("a", 1<<20)}
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
		all = append(all, string(text))
	}
	return append(few, all...)
}

// TestHostileArguments: what a model sends is refused before it reaches the server, or arrives there as it was; the same
// for trusted values that the worker fills in. Through all of it the connection stays, and no name of a tool breaks a line.
func TestHostileArguments(t *testing.T) {
	t.Parallel()
	fills := func(s *Server) {
		s.Tools = map[string]ToolConfig{"overwrite": {Arguments: []Variable{{"text", "${trusted.customer}"}}}, "echo": {}}
	}
	s := openServers(t, Options{}, programOf(t, "1", fills))
	echo, err := s.Find(t.Context(), "s__echo")
	require.NoError(t, err)
	filled, err := s.Find(t.Context(), "s__overwrite")
	require.NoError(t, err)
	ran := 0
	for _, text := range hostileTexts(t) {
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		var whole string
		require.NoError(t, json.Unmarshal(quoted, &whole)) // what is no UTF-8 was replaced
		result, err := echo.Call(t.Context(), `{"text":`+string(quoted)+`}`)
		require.NoError(t, err, "%q", text)
		require.Equal(t, whole, result.Content)
		result, err = filled.Call(tool.WithExecution(t.Context(), tool.Call{Trusted: as("customer", string(quoted))}), `{}`)
		require.NoError(t, err, "%q", text)
		require.Equal(t, whole, result.Content)

		for _, arguments := range []string{text, `{"text":` + text + `}`, `{` + string(quoted) + `:"a"}`} {
			if arguments == "" || arguments == `{"text":"a"}` {
				continue
			}
			if _, err := echo.Call(t.Context(), arguments); err == nil {
				ran++
				require.True(t, json.Valid([]byte(arguments)), "%q", arguments)
			} else {
				require.Equal(t, domain.CodeMalformed, domain.AsError(err).Code, "%q: %s", arguments, err)
			}
		}
		_, err = s.Find(t.Context(), "s__"+text)
		require.Error(t, err, "%q", text)
		require.NotContains(t, err.Error(), "\x1b")
		require.NotContains(t, err.Error(), "\n")
		require.Less(t, len(err.Error()), 2000)
	}
	require.NotZero(t, ran)
	require.Zero(t, s.all["s"].failures)
}
