package files

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

// A fields is the arguments of a call.
type fields map[string]any

// folder makes a folder with files in it, and opens it.
func folder(t *testing.T, files map[string]string) (*Root, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		require.NoError(t, os.WriteFile(full, []byte(text), 0o644))
	}
	root, err := Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return root, dir
}

// call calls a tool as the worker does, with a text as a model writes it, or with fields.
func call(ctx context.Context, t *testing.T, root *Root, name string, args any) (string, error) {
	t.Helper()
	text, written := args.(string)
	if !written {
		encoded, err := json.Marshal(args)
		require.NoError(t, err)
		text = string(encoded)
	}
	for _, tl := range root.Tools() {
		if tl.Spec().Name == name {
			result, err := tl.Call(ctx, text)
			return result.Content, err
		}
	}
	require.Fail(t, "no such tool", name)
	return "", nil
}

func answer(t *testing.T, root *Root, name string, args any) string {
	t.Helper()
	text, err := call(t.Context(), t, root, name, args)
	require.NoError(t, err)
	return text
}

// refusal is the error of a call that must fail, and leaves the path in it to
// the one who asks.
func refusal(t *testing.T, root *Root, name string, args any) *domain.Error {
	t.Helper()
	text, err := call(t.Context(), t, root, name, args)
	require.Error(t, err, "answered %q", text)
	require.Empty(t, text, "what is refused claims nothing")
	own := domain.AsError(err)
	require.NotEqual(t, domain.Internal, own.Kind, "%s", own.Detail)
	return own
}

func stored(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(data)
}

func TestToolsAreWellMade(t *testing.T) {
	t.Parallel()
	root, _ := folder(t, nil)
	want := map[string]domain.Effect{
		"list_files": domain.ReadOnly, "read_file": domain.ReadOnly, "search_files": domain.ReadOnly,
		"write_file": domain.Idempotent, "edit_file": domain.AtMostOnce,
	}
	got := map[string]domain.Effect{}
	for _, tl := range root.Tools() {
		require.NoError(t, tl.Check())
		require.NotEmpty(t, tl.Spec().Description)
		got[tl.Spec().Name] = tl.Spec().Effect
	}
	require.Equal(t, want, got)
}

func TestOpenNeedsAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Open(filepath.Join(dir, "none"))
	require.ErrorContains(t, err, "open folder for file tools")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	_, err = Open(filepath.Join(dir, "file"))
	require.Error(t, err)
}

// escapesOf returns a root whose every way out is closed, and the paths that
// try them.
func escapesOf(t *testing.T) (root *Root, outside string, paths map[string]string) {
	t.Helper()
	root, dir := folder(t, map[string]string{"in/file.txt": "inside"})
	outside = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("secret old"), 0o644))
	relative, err := filepath.Rel(dir, outside)
	require.NoError(t, err)
	for link, target := range map[string]string{
		"absolute": filepath.Join(outside, "secret.txt"), "folder": outside,
		"relative": filepath.Join(relative, "secret.txt"), "in/up": filepath.Join("..", relative),
		"chain": "absolute", "dangling": filepath.Join(outside, "new.txt"),
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	return root, outside, map[string]string{
		"absolute path":             filepath.Join(outside, "secret.txt"),
		"dots":                      filepath.ToSlash(filepath.Join(relative, "secret.txt")),
		"dots behind a folder":      "in/../../" + filepath.Base(outside) + "/secret.txt",
		"absolute link":             "absolute",
		"relative link":             "relative",
		"through a linked folder":   "folder/secret.txt",
		"new below a linked folder": "folder/new/file.txt",
		"through a link further in": "in/up/secret.txt",
		"link to a link":            "chain",
		"link to what is not there": "dangling",
		"zero byte":                 "in\x00/file.txt",
	}
}

// each has all tools look at a path, by their names.
func each(path string) map[string]fields {
	return map[string]fields{
		"list_files":   {"path": path, "recursive": true},
		"read_file":    {"path": path},
		"search_files": {"path": path, "pattern": "."},
		"write_file":   {"path": path, "content": "overwritten"},
		"edit_file":    {"path": path, "old": "old", "new": "new"},
	}
}

func TestNoToolLeavesTheRoot(t *testing.T) {
	t.Parallel()
	root, outside, paths := escapesOf(t)
	for name, path := range paths {
		for tool, args := range each(path) {
			own := refusal(t, root, tool, args)
			require.Contains(t, own.Message, "path: ", "%s, %s", tool, name)
			require.NotContains(t, own.Message, "secret old")
		}
	}
	answer(t, root, "write_file", `{"path":"folder/../beside.txt","content":"inside"}`)
	require.Equal(t, "inside", stored(t, root.root.Name(), "beside.txt"), "dots are resolved before links")
	require.Equal(t, "secret old", stored(t, outside, "secret.txt"))
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing was written outside")
	require.Equal(t, "[no matches]", answer(t, root, "search_files", `{"pattern":"secret"}`), "links are not followed")
	require.NotContains(t, answer(t, root, "list_files", `{"recursive":true}`), "secret.txt\t")
}

func TestRefusalsNameTheFix(t *testing.T) {
	t.Parallel()
	root, _, paths := escapesOf(t)
	for name, want := range map[string]string{
		"absolute path":           "is absolute; give it relative to the root",
		"dots":                    "leads out of the root; give a path inside it",
		"absolute link":           "leads out of the root through a symbolic link",
		"through a linked folder": "leads out of the root through a symbolic link",
		"zero byte":               "holds a zero byte",
	} {
		own := refusal(t, root, "read_file", fields{"path": paths[name]})
		require.Contains(t, own.Message, want)
	}
	require.Contains(t, refusal(t, root, "write_file", fields{"path": paths["absolute link"], "content": ""}).Message, "through a symbolic link")
	for path, want := range map[string]string{
		"none.txt":        "does not exist; list_files shows what does",
		"in/file.txt/sub": "is a file and not a folder",
		"in":              "is a folder; use list_files",
		"":                "names a folder",
		"in/":             "names a folder",
	} {
		own := refusal(t, root, "read_file", fields{"path": path})
		require.Contains(t, own.Message, want)
		require.Equal(t, domain.Invalid, own.Kind)
	}
}

func TestLinksInsideAreReadThrough(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, map[string]string{"v2/a.txt": "two"})
	require.NoError(t, os.Symlink("v2", filepath.Join(dir, "current")))
	require.NoError(t, os.Symlink("v2/a.txt", filepath.Join(dir, "a.txt")))
	require.Equal(t, "[current/a.txt: 1 line]\ntwo", answer(t, root, "read_file", `{"path":"current/a.txt"}`))
	require.Equal(t, "[a.txt: 1 line]\ntwo", answer(t, root, "read_file", `{"path":"a.txt"}`))
	require.Contains(t, answer(t, root, "list_files", ""), "current\tlink to v2")
	require.Equal(t, "current/a.txt\t3 bytes", answer(t, root, "list_files", `{"path":"current"}`))

	require.Equal(t, "wrote 5 bytes to current/b.txt", answer(t, root, "write_file", `{"path":"current/b.txt","content":"three"}`))
	require.Equal(t, "three", stored(t, dir, "v2/b.txt"))
	own := refusal(t, root, "write_file", `{"path":"a.txt","content":"x"}`)
	require.Contains(t, own.Message, `path: "a.txt" is a symbolic link to "v2/a.txt"; give the path that it leads to`)
	require.Equal(t, "two", stored(t, dir, "v2/a.txt"))
}

func TestCancelledWorkStops(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, map[string]string{"a.txt": "old"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"list_files", "search_files"} {
		_, err := call(ctx, t, root, name, each(".")[name])
		require.ErrorIs(t, err, context.Canceled, name)
	}
	for _, name := range []string{"write_file", "edit_file"} {
		_, err := call(ctx, t, root, name, each("a.txt")[name])
		require.True(t, tool.IsNotStarted(err), "%s: %v", name, err)
	}
	require.Equal(t, "old", stored(t, dir, "a.txt"))
}
