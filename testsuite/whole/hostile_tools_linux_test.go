package whole_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob/memblob"

	"everstep/activities/artifact"
	"everstep/activities/asking"
	"everstep/activities/files"
	"everstep/activities/record"
	"everstep/activities/shell"
	"everstep/activities/todo"
	"everstep/activities/tool"
	"everstep/activities/waiting"
	"everstep/activities/web"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/worker/host"
)

// hostileInputs are texts that break programs, and texts that are no JSON, or such that parsers disagree about: those of
// EVERSTEP_DATA, else a few.
func hostileInputs(t *testing.T) (texts, values []string) {
	t.Helper()
	folder := os.Getenv("EVERSTEP_DATA")
	if folder == "" {
		t.Log("EVERSTEP_DATA is not set: of the hostile inputs only a few are tried")
		return []string{
				"", " ", "\x00", "a\x00b", "a\nb", "\u202etxt.exe", "\ufeff", "../../etc/passwd", "/proc/self/environ", "-rf", "--", "$(id)", "`id`", "; touch /tmp/blns.fail",
				"%s%n", "{{ . }}", "<script>", "\x1b[2J", "\u200b", "ﬁ", "1e400", "NaN", "'\"\\", "*?[", "(a+)+$", "https://[", "http://a@b:c@d/", strings.Repeat("a", 100_000), strings.Repeat("../", 2000),
			}, []string{
				`[`, `{"a":1,}`, `"\ud800"`, "\"\xff\"", `1e999`, `-`, `nul`, `{"a":1,"a":2}`, `"\u0000"`, `[[[[[[[[[[]]]]]]]]]]`, `-0`, `123456789012345678901234567890`, strings.Repeat("[", 100_000),
			}
	}
	data, err := os.ReadFile(filepath.Join(folder, "hostile", "blns", "blns.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &texts))
	require.Greater(t, len(texts), 500)
	texts = append(texts, "a\x00b", "\x00", "a\nb", "/proc/self/environ", "\x1b[2J", strings.Repeat("a", 100_000), strings.Repeat("../", 2000))
	found, err := filepath.Glob(filepath.Join(folder, "hostile", "JSONTestSuite", "test_parsing", "*.json"))
	require.NoError(t, err)
	require.Greater(t, len(found), 300)
	for _, file := range found {
		value, err := os.ReadFile(file)
		require.NoError(t, err)
		values = append(values, string(value))
	}
	return texts, values
}

// A victim is a tool, and arguments of it that are in order: each in turn is replaced by what is hostile.
type victim struct {
	tool tool.Tool
	good map[string]any
	// every says that of so many inputs one is tried in each argument, unless EVERSTEP_RECORDED=all.
	every int
}

// victims are all built-in tools, in a folder of their own, and what they may reach.
func victims(t *testing.T, dir string) []victim {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("page")) }))
	t.Cleanup(server.Close)
	// Names lead to the proxy alone, so none of them is looked up.
	client, err := web.New(web.Config{Allow: []string{strings.TrimPrefix(server.URL, "http://")}, Proxy: server.URL})
	require.NoError(t, err)
	root, err := files.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	commands, err := shell.Open(shell.Config{Dir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, commands.Close()) })
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	kept := artifact.New(bucket)
	records, err := record.OpenDirectory(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, records.Close()) })
	require.NoError(t, kept.Keep(agentPlace(t.Context()), domain.ToolExecutionID{UUID: uuid.Max}, "a long text"))

	type fields = map[string]any
	good := map[string]fields{
		"list_files": {"path": ".", "glob": "*", "recursive": false, "limit": 5}, "read_file": {"path": "file.txt", "from_line": 1, "to_line": 1},
		"search_files": {"pattern": "a", "literal": false, "path": ".", "glob": "*", "limit": 5}, "write_file": {"path": "new.txt", "content": "a"},
		"edit_file": {"path": "file.txt", "old": "inside", "new": "inside!"},
		"http_get":  {"url": server.URL, "headers": fields{"Accept": "text/plain"}, "raw": true, "from": 0},
		"http_post": {"url": server.URL, "body": "a", "content_type": "text/plain", "headers": fields{"Accept": "text/plain"}, "raw": true},
		"shell":     {"command": []string{"true"}, "folder": ".", "timeout_seconds": 5},
		"sleep":     {"seconds": 1}, "wait_until": {"time": "2100-01-01T00:00:00Z"}, "todo": {"items": []fields{{"text": "a", "status": "open"}}},
		"ask_user":         {"question": "which?", "choices": []string{"a", "b"}, "default": "a", "expires_in": 5},
		domain.HistoryTool: {"before": 2, "from_step": 1},
		"read_artifact":    {"id": uuid.Max.String(), "offset": 0, "limit": 5},
	}
	var all []victim
	for _, one := range slices.Concat(root.Tools(), client.Tools(), waiting.Tools(), []tool.Tool{todo.Tool(), asking.Tool(), kept.Tool(), records.Tool(), commands.Tool()}) {
		v := victim{tool: one, good: good[one.Spec().Name], every: 2}
		require.NotNil(t, v.good, one.Spec().Name)
		if one.Spec().Name == shell.Name {
			v.every = 40
		}
		if everyRecorded() {
			v.every = 1
		}
		all = append(all, v)
	}
	require.GreaterOrEqual(t, len(all), len(host.OptionalTools())+5, "none is left out")
	return all
}

func agentPlace(ctx context.Context) context.Context {
	return tool.WithExecution(contract.WithPlace(ctx, contract.Place{WorkflowID: "agent/victim"}), tool.Call{AgentName: "victim", Earlier: &domain.EarlierExecutions{}})
}

// arguments are the good ones with one replaced by a text that stands for a value, which need not be JSON.
func (v victim) arguments(t *testing.T, name, value string) string {
	t.Helper()
	fields := map[string]any{}
	for key, good := range v.good {
		if key != name && (name != "script" || key != "command") { // of the two a call has one
			fields[key] = good
		}
	}
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	key, err := json.Marshal(name)
	require.NoError(t, err)
	begin := strings.TrimSuffix(string(text), "}")
	if len(fields) > 0 {
		begin += ","
	}
	return begin + string(key) + ":" + value + "}"
}

// shapes are the values that a text can be, or be part of, where some argument of a built-in tool wants them.
func shapes(t *testing.T, text string) []string {
	t.Helper()
	encoded, err := json.Marshal(text)
	require.NoError(t, err)
	s := string(encoded)
	return []string{s, "[" + s + "]", `["echo",` + s + "]", "{" + s + `:"a"}`, `{"Accept":` + s + "}", `[{"text":` + s + "}]", `[{"text":"a","status":` + s + "}]"}
}

// TestToolsTakeHostileInput: each hostile text and value, in each argument of each built-in tool and as its arguments, ends
// in a result or in an error that says what is wrong; it makes, changes and tells nothing outside of the root.
func TestToolsTakeHostileInput(t *testing.T) {
	t.Parallel()
	texts, values := hostileInputs(t)
	above := t.TempDir()
	dir := filepath.Join(above, "root")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file.txt"), []byte("inside\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(above, "beside.txt"), []byte("sesame"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(above, "beside.txt"), filepath.Join(dir, "link")))
	var all victimSum
	for _, v := range victims(t, dir) {
		var schema struct{ Properties map[string]json.RawMessage }
		require.NoError(t, json.Unmarshal(v.tool.Spec().Schema, &schema))
		begun, before := time.Now(), all
		usual, err := json.Marshal(v.good)
		require.NoError(t, err)
		all.take(t, v.tool, string(usual))
		require.Greater(t, all.ran, before.ran, "it takes what is in order")
		for name := range schema.Properties {
			if name == "script" && shell.Landlock() == 0 {
				t.Log("this kernel has no Landlock: no hostile text is tried as a script")
				continue
			}
			for i := 0; i < len(texts); i += v.every {
				for _, value := range shapes(t, texts[i]) {
					all.take(t, v.tool, v.arguments(t, name, value))
				}
			}
			for i := 0; i < len(values); i += v.every {
				all.take(t, v.tool, v.arguments(t, name, values[i]))
			}
		}
		for _, text := range append(slices.Clip(texts), values...) {
			if text != "" || len(schema.Properties) == 0 {
				all.take(t, v.tool, text)
			}
		}
		t.Logf("%s: %d calls, %d of them ran, in %s", v.tool.Spec().Name, all.calls-before.calls, all.ran-before.ran, time.Since(begun).Round(time.Millisecond))
	}
	left, err := os.ReadDir(above)
	require.NoError(t, err)
	require.Len(t, left, 2, "nothing was made outside")
	text, err := os.ReadFile(filepath.Join(above, "beside.txt"))
	require.NoError(t, err)
	require.Equal(t, "sesame", string(text))
	made, err := filepath.Glob("/tmp/blns*")
	require.NoError(t, err)
	require.Empty(t, made, "no shell read what was a text")
}

// A victimSum counts what came of calls.
type victimSum struct{ calls, ran int }

func (s *victimSum) take(t *testing.T, one tool.Tool, arguments string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(agentPlace(t.Context()), 20*time.Second)
	defer cancel()
	result, err := one.Call(ctx, arguments)
	about := one.Spec().Name + " " + domain.Shorten(arguments, 300)
	require.NoError(t, ctx.Err(), "it hangs: %s", about)
	s.calls++
	_, waits := tool.Waits(err)
	if _, asks := tool.Asks(err); err == nil || waits || asks {
		s.ran++
		require.NotContains(t, result.Content, "sesame", about)
		return
	}
	own := domain.AsError(err)
	require.NotEqual(t, domain.Internal, own.Kind, "%s: %s", about, own.Detail)
	require.NotEmpty(t, own.Message, about)
	require.Less(t, len(own.Message), 8_000, about)
	require.True(t, utf8.ValidString(own.Message), about)
	require.NotContains(t, own.Message, "sesame", about)
	require.False(t, strings.ContainsFunc(own.Message, func(r rune) bool { return r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u202e') }), "%s: %q", about, own.Message)
}
