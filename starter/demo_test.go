package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/files"
	"everstep/activities/inference"
	"everstep/activities/scripted"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/testsuite/golden"
)

// playDemo plays the demo's script with the real file tools in a folder, and
// returns the report.
func playDemo(t *testing.T, dir string) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "demo.yaml")
	require.NoError(t, os.WriteFile(script, demoScript, 0o600))
	root, err := files.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	tools := map[string]tool.Tool{}
	for _, each := range root.Tools() {
		tools[each.Spec().Name] = each
	}
	messages := []domain.Message{domain.UserMessage(demoPrompt(dir))}
	for n := 0; ; n++ {
		answer, err := scripted.New().Infer(t.Context(), inference.Call{
			Config: domain.LLMConfig{Provider: scripted.Name, Model: script}, Messages: messages, Inference: n, Attempt: 1,
		}, func(inference.Delta) {})
		require.NoError(t, err, "turn %d", n+1)
		messages = append(messages, answer.Message)
		if len(answer.Message.ToolCalls) == 0 {
			return answer.Message.Text()
		}
		for _, call := range answer.Message.ToolCalls {
			content := callDemoTool(t.Context(), tools[call.Name], call)
			messages = append(messages, domain.ToolMessage(domain.ToolResult{CallID: call.ID, Name: call.Name, Content: content}))
		}
	}
}

func callDemoTool(ctx context.Context, called tool.Tool, call domain.ToolCall) string {
	result, err := called.Call(ctx, call.Arguments)
	if err != nil {
		return err.Error()
	}
	return result.Content
}

func writeFiles(t *testing.T, dir string, contents map[string]string) {
	t.Helper()
	for name, text := range contents {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

// TestDemoReport plays the demo in a small project.
func TestDemoReport(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "project")
	writeFiles(t, dir, map[string]string{
		"README.md":      "# Project\n\n[![badge](x)](y)\n\nCounts sheep.\n\n## Use\n\n`count`\n",
		"go.mod":         "module example.com/sheep\n\ngo 1.26\n\nrequire (\n\texample.org/a v1.0.0\n\texample.org/b v1.2.0 // indirect\n)\n",
		"main.go":        "package main\n\n// " + "TO" + "DO: count wolves too.\nfunc main() {}\n",
		"main_test.go":   "package main\n\nfunc TestCount(t *testing.T) {}\nfunc TestSleep(t *testing.T) {}\n",
		"docs/notes.md":  strings.Repeat("baa\n", 600),
		"LICENSE":        "free\n",
		"docs/sheep.bin": "\x00\x01",
	})
	report := playDemo(t, dir)
	golden.Compare(t, filepath.Join("testdata", "demo-report.golden"), report, *update)
}

// TestDemoReportAnywhere plays the demo where there is nothing, too much, or
// what breaks carelessly made texts.
func TestDemoReportAnywhere(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for n := range 1200 {
		many[fmt.Sprintf("f%04d.txt", n)] = "x"
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"empty": {want: []string{"## Tests"}},
		"many":  {files: many, want: []string{"[1176 more; ", "is cut off: it has **at least 1001 lines**. At the top:"}},
		"hostile": {
			files: map[string]string{
				"new\nline.txt": "x", "a\x1b[31mb.go": "{{ .x }}", "{{ .y }}.md": "# {{ end }}", "quote'\"`|.json": "x",
				"[x]. 7 more; y": "x", "-rf": "x", "README.md": "\x1b]0;title\x07\n{{ result }}\n", "go.mod": "not a module",
			},
			want: []string{`"a\x1b[31mb.go"`, "- {{ .y }}.md:1: # {{ end }}", "## README.md says", "> {{ result }}"},
		},
		"binary":          {files: map[string]string{"README.md": "\x00", "x.bin": "\xff\xfe"}, want: []string{"2 files not searched"}},
		"other languages": {files: map[string]string{"test_a.py": "def test_a(): pass\n"}, want: []string{"- test_a.py:1: def test_a(): pass"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeFiles(t, dir, test.files)
			report := playDemo(t, dir)
			for _, part := range test.want {
				require.Contains(t, report, part)
			}
		})
	}
}
