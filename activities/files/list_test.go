package files

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func TestList(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, map[string]string{
		"b.go": "12345", "a.txt": "1", "docs/x.md": "", "docs/deep/y.go": "12", "docs/deep/z.txt": "123",
		".git/config": "secret", ".hidden": "", "docs/.everstep-00000000-0000-0000-0000-000000000000-1.tmp": "half",
	})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	for _, c := range []struct {
		name string
		args string
		want []string
	}{
		{"root", `{}`, []string{".git/\tfolder", ".hidden\t0 bytes", "a.txt\t1 byte", "b.go\t5 bytes", "docs/\tfolder", "empty/\tfolder"}},
		{"folder", `{"path":"docs"}`, []string{"docs/deep/\tfolder", "docs/x.md\t0 bytes"}},
		{"untidy path", `{"path":"./docs/../docs/"}`, []string{"docs/deep/\tfolder", "docs/x.md\t0 bytes"}},
		{"recursive", `{"recursive":true}`, []string{
			".git/\tfolder, not entered", ".hidden\t0 bytes", "a.txt\t1 byte", "b.go\t5 bytes", "docs/\tfolder", "docs/deep/\tfolder",
			"docs/deep/y.go\t2 bytes", "docs/deep/z.txt\t3 bytes", "docs/x.md\t0 bytes", "empty/\tfolder",
		}},
		{".git itself", `{"path":".git","recursive":true}`, []string{".git/config\t6 bytes"}},
		{"a file that the glob does not choose", `{"path":"a.txt","glob":"*.go"}`, []string{"[no entries]"}},
		{"glob on names", `{"recursive":true,"glob":"*.go"}`, []string{"b.go\t5 bytes", "docs/deep/y.go\t2 bytes"}},
		{"glob on paths", `{"recursive":true,"glob":"docs/**/*.go"}`, []string{"docs/deep/y.go\t2 bytes"}},
		{"glob on paths below", `{"path":"docs","recursive":true,"glob":"deep/*"}`, []string{"docs/deep/y.go\t2 bytes", "docs/deep/z.txt\t3 bytes"}},
		{"glob not recursive", `{"glob":"*.go"}`, []string{"b.go\t5 bytes"}},
		{"a file", `{"path":"a.txt"}`, []string{"a.txt\t1 byte"}},
		{"empty", `{"path":"empty"}`, []string{"[no entries]"}},
		{"limit that is not needed", `{"limit":6}`, []string{".git/\tfolder", ".hidden\t0 bytes", "a.txt\t1 byte", "b.go\t5 bytes", "docs/\tfolder", "empty/\tfolder"}},
		{"limit", `{"limit":2}`, []string{".git/\tfolder", ".hidden\t0 bytes", "[4 more; raise limit, or narrow it with path or glob]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, strings.Split(answer(t, root, "list_files", c.args), "\n"))
		})
	}
	require.Contains(t, refusal(t, root, "list_files", `{"limit":-1}`).Message, "limit: -1 is negative; give 1 to 5000")
	require.Contains(t, refusal(t, root, "list_files", `{"glob":"[a"}`).Message, `glob: "[a" is not valid`)
	require.Contains(t, refusal(t, root, "list_files", `{"glob":"*.{go,md}"}`).Message, "braces are not known here")
	require.Contains(t, refusal(t, root, "list_files", `{"path":"none"}`).Message, `path: "none" does not exist`)
}

func TestListQuotesNamesThatCouldDoHarm(t *testing.T) {
	t.Parallel()
	root, _ := folder(t, map[string]string{"a\x1b[31m\n.txt": "", "plain name é.txt": "", "\u202egnp.exe": "", "\xff": ""})
	require.Equal(t, []string{
		`"a\x1b[31m\n.txt"` + "\t0 bytes", "plain name é.txt\t0 bytes", `"\u202egnp.exe"` + "\t0 bytes", `"\xff"` + "\t0 bytes",
	}, strings.Split(answer(t, root, "list_files", ""), "\n"))
}

// TestListIsBounded: as many entries are looked at as are allowed, in one folder and in many, and that there are more is said.
func TestListIsBounded(t *testing.T) {
	t.Parallel()
	for pattern, all := range map[string]int{"f%d": 40, "d%d/f": 80} {
		files := map[string]string{}
		for i := range 40 {
			files[fmt.Sprintf(pattern, i)] = ""
		}
		root, _ := folder(t, files)
		for _, visited := range []int{30, all - 1, all} {
			root.bounds.visited = visited
			lines := strings.Split(answer(t, root, "list_files", `{"recursive":true}`), "\n")
			if visited == all {
				require.Len(t, lines, all)
				continue
			}
			require.Len(t, lines, visited+1)
			require.Equal(t, fmt.Sprintf("[not all was looked at: there are more than %d entries; give a path further down]", visited), lines[visited])
		}
	}
}

// TestWalksGoOnWhereAFolderIsGone: it is counted, and what comes after it seen.
func TestWalksGoOnWhereAFolderIsGone(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, map[string]string{"a/x": "", "b": ""})
	w, err := root.walker("", "", 0, 1, 1)
	require.NoError(t, err)
	var seen []string
	w.deep = true
	w.visit = func(name string, info fs.FileInfo) error {
		seen = append(seen, name)
		if info.IsDir() {
			return os.RemoveAll(filepath.Join(dir, name))
		}
		return nil
	}
	require.NoError(t, w.walk(t.Context()))
	require.Equal(t, []string{"a", "b"}, seen)
	require.Equal(t, []string{"[1 folder could not be read]"}, w.notes())
}

func TestListSaysWhatItCouldNotRead(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything: the unreadable folder was NOT tried")
	}
	root, dir := folder(t, map[string]string{"shut/a": "", "b": ""})
	require.NoError(t, os.Chmod(filepath.Join(dir, "shut"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "shut"), 0o755) })
	require.Equal(t, "b\t0 bytes\nshut/\tfolder\n[1 folder could not be read]", answer(t, root, "list_files", `{"recursive":true}`))
	require.Equal(t, domain.Denied, refusal(t, root, "list_files", `{"path":"shut"}`).Kind)
}

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"", []string{"a", "a/b"}, nil},
		{"*.go", []string{"a.go", "x/y/a.go"}, []string{"a.md", "a.go/b"}},
		{"a/*", []string{"a/b"}, []string{"a", "a/b/c", "x/a/b"}},
		{"**", []string{"a", "a/b/c"}, nil},
		{"a/**", []string{"a", "a/b", "a/b/c"}, []string{"b"}},
		{"**/b", []string{"b", "a/b", "a/a/b"}, []string{"a", "b/a"}},
		{"a/**/b/**/c", []string{"a/b/c", "a/x/b/y/z/c", "a/b/b/c/c"}, []string{"a/c", "a/b/c/x"}},
		{"[ab]?", []string{"ax", "z/bx"}, []string{"a", "cx"}},
		{"/a/", []string{"a"}, []string{"a/b"}},
	} {
		g, err := parseGlob(c.pattern)
		require.NoError(t, err)
		for _, name := range c.yes {
			require.True(t, g.match(name), "%q takes %q", c.pattern, name)
		}
		for _, name := range c.no {
			require.False(t, g.match(name), "%q refuses %q", c.pattern, name)
		}
	}
	_, err := parseGlob(strings.Repeat("*", maxGlob))
	require.NoError(t, err)
	_, err = parseGlob(strings.Repeat("*", maxGlob+1))
	require.ErrorContains(t, err, "glob: it has 1001 bytes")
}
