package agentfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/document"
	"everstep/starter/agentfile"
)

// brokenFolder is a folder with what the broken agents name.
func brokenFolder(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "agents")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "schemas"), 0o700))
	for name, text := range map[string]string{
		"verdict.json":    `{"type": "object"}`,
		"broken.json":     "{\n  \"type\": object\n}\n",
		"large.json":      `{"title": "` + strings.Repeat("x", 400_000) + `"}`,
		"../outside.json": `{"type": "object"}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Symlink(filepath.Join("..", "outside.json"), filepath.Join(folder, "link.json")))
	return folder
}

func TestBrokenAgents(t *testing.T) {
	t.Parallel()
	folder := brokenFolder(t)
	names := map[string]bool{}
	for _, b := range brokenAgents(t) {
		require.False(t, names[b.name], b.name)
		names[b.name] = true
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			f, err := agentfile.Settings{}.Parse(filepath.Join(folder, b.file), []byte(b.text))
			problems, ok := errors.AsType[document.Problems](err)
			require.True(t, ok, "%v", err)
			var says []string
			for _, p := range problems {
				require.NotContains(t, p.Message, "\n")
				says = append(says, strings.ReplaceAll(p.String(), folder+string(filepath.Separator), ""))
			}
			require.Equal(t, b.says, says)
			require.NotEmpty(t, f.Name, "so that a list can show it")
		})
	}
	require.GreaterOrEqual(t, len(names), 100)
}

func TestTextOfProblems(t *testing.T) {
	t.Parallel()
	_, err := agentfile.Settings{}.Parse("a.yaml", []byte("namee: a\nhooks: {}\n"))
	require.EqualError(t, err, "a.yaml has 2 problems:\n"+
		"  a.yaml:1:1: namee: there is no such key; did you mean name?\n"+
		"  a.yaml:2:8: hooks: is a mapping, not a list")
	_, err = agentfile.Settings{}.Parse("a.yaml", []byte("hooks: {}\n"))
	require.EqualError(t, err, "a.yaml:1:8: hooks: is a mapping, not a list")
	_, err = agentfile.Settings{}.Parse("a.yaml", []byte("tools: ["+strings.Repeat("1, ", 60)+"]\n"))
	problems, _ := errors.AsType[document.Problems](err)
	require.Len(t, problems, 60)
	require.ErrorContains(t, err, "tools[49]: ")
	require.NotContains(t, err.Error(), "tools[50]: ")
	require.ErrorContains(t, err, "\n  and 10 more")
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	require.NoError(t, os.WriteFile(at("reviewer.yaml"), []byte("model: p/n\n"), 0o600))
	require.NoError(t, os.WriteFile(at("notes.txt"), []byte("model: p/n\n"), 0o600))
	require.NoError(t, os.WriteFile(at("huge.yaml"), slices.Repeat([]byte("#"), agentfile.MaxSize+1), 0o600))
	require.NoError(t, os.WriteFile(at("most.yaml"), append([]byte("model: p/n\n#"), slices.Repeat([]byte("x"), agentfile.MaxSize-12)...), 0o600))
	require.NoError(t, os.Mkdir(at("folder.yaml"), 0o700))
	require.NoError(t, os.Mkdir(at("plain"), 0o700))
	require.NoError(t, syscall.Mkfifo(at("pipe.yaml"), 0o600))
	require.NoError(t, os.Symlink("round.yaml", at("round.yaml")))
	require.NoError(t, os.Symlink("notes.txt", at("secret.md")))
	require.NoError(t, os.Symlink("gone.md", at("dangling.md")))
	for name, says := range map[string]string{
		"reviewr.yaml":       "there is no such file; did you mean " + at("reviewer.yaml") + "?",
		"reviewer.md":        "there is no such file; did you mean " + at("reviewer.yaml") + "?",
		"other.yaml":         "there is no such file; `agents list` shows those in ./agents, ./.everstep/agents, ./.claude/agents, ./.opencode, ./opencode.json, ./.github, ./.gemini, ./.cursor and ./.qwen",
		"nowhere/a.yaml":     "there is no such file, and no folder " + at("nowhere"),
		"opencode.json":      "is JSON, as opencode has its settings; name an agent in it, as in opencode.json#build",
		"notes.txt":          "is no agent's file by its name; let it end in .yaml, .yml, .md, .markdown",
		"codex.toml":         "is TOML, as Codex has its agents; put its instructions into ./agents/NAME.md, below front matter with its model and tools",
		"huge.yaml":          "has more than 1048576 bytes; make it smaller",
		"folder.yaml":        "is a folder; name a file in it",
		"plain":              "is a folder; name a file in it",
		"pipe.yaml":          "is not a regular file; copy what it gives to one",
		"dangling.md":        "is a link to gone.md, which is not there",
		"secret.md":          "is a link to " + at("notes.txt") + ", which is no agent's file by its name; let that end in .yaml, .yml, .md, .markdown, too",
		"round.yaml":         "cannot be read: too many levels of symbolic links",
		"reviewer.yaml/a.md": "cannot be read: not a directory",
	} {
		_, err := agentfile.Settings{}.Load(at(name))
		require.EqualError(t, err, at(name)+": "+says)
	}
	for _, name := range []string{"reviewer.yaml", "most.yaml"} {
		_, err := agentfile.Settings{}.Load(at(name))
		require.NoError(t, err)
	}
}

func TestFoldersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "agents"), nil, 0o600))
	says := filepath.Join(folder, "agents") + ": cannot be read: not a directory"
	_, err := agentfile.Settings{}.List(folder)
	require.EqualError(t, err, says)
	_, err = agentfile.Find(folder, "reviewer")
	require.EqualError(t, err, says)
	for _, name := range []string{"reviewer.md", "reviewer.toml", "opencode.json#reviewer", "agents/reviewer"} {
		path, err := agentfile.Find(folder, name)
		require.NoError(t, err, "a path needs no folder")
		require.Equal(t, name, path)
	}
	_, err = agentfile.Find(t.TempDir(), "reviewer")
	require.EqualError(t, err, `there is no agent "reviewer", and none at all in ./agents, ./.everstep/agents, ./.claude/agents, ./.opencode, ./opencode.json, ./.github, ./.gemini, ./.cursor and ./.qwen; give the path of a file`)
}
