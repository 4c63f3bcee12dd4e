package files

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	root, _ := folder(t, map[string]string{
		"a.go": "package a\n\nfunc A() {}\n", "b/b.go": "package b\r\nfunc B() {}\r\n", "b/c.md": "func is a word", "empty.go": "",
		".git/HEAD": "func", "image.png": "func\x00", "dots.md": "a.b\naxb\n", "odd\nname": "func",
	})
	for _, c := range []struct {
		name string
		args string
		want []string
	}{
		{"regular expression", `{"pattern":"^func [A-Z]\\(\\) \\{\\}$"}`, []string{"a.go:3: func A() {}", "b/b.go:2: func B() {}", "[1 file not searched: not UTF-8 text]"}},
		{"glob", `{"pattern":"func","glob":"*.md"}`, []string{"b/c.md:1: func is a word"}},
		{"folder", `{"pattern":"package","path":"b"}`, []string{"b/b.go:1: package b"}},
		{"file", `{"pattern":"a.b","path":"dots.md"}`, []string{"dots.md:1: a.b", "dots.md:2: axb"}},
		{"literal", `{"pattern":"a.b","literal":true,"glob":"dots.md"}`, []string{"dots.md:1: a.b"}},
		{"empty lines, not what follows the last", `{"pattern":"^$","glob":"*.go"}`, []string{"a.go:2: "}},
		{"ignoring case", `{"pattern":"(?i)FUNC b","glob":"*.go"}`, []string{"b/b.go:2: func B() {}"}},
		{"odd name", `{"pattern":"func","glob":"odd*"}`, []string{`"odd\nname":1: func`}},
		{"limit", `{"pattern":"package","limit":1,"glob":"*.go"}`, []string{"a.go:1: package a", "[more than 1 lines match; raise limit, or narrow it with path or glob]"}},
		{"nothing", `{"pattern":"zebra","glob":"*.go"}`, []string{"[no matches]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, strings.Split(answer(t, root, "search_files", c.args), "\n"))
		})
	}
	require.Equal(t, "[no matches]", answer(t, root, "search_files", fields{"pattern": strings.Repeat("x", maxPattern), "glob": "*.md"}))
	for pattern, want := range map[string]string{
		"": "pattern: it is empty", "(": `pattern: missing closing ): "("; mend it, or set literal`,
		strings.Repeat("x", maxPattern+1): "pattern: it has 1001 bytes",
	} {
		require.Contains(t, refusal(t, root, "search_files", fields{"pattern": pattern}).Message, want)
	}
}

func TestSearchCutsLongLines(t *testing.T) {
	t.Parallel()
	root, _ := folder(t, map[string]string{"min.js": strings.Repeat("é", 10_000) + "needle" + strings.Repeat("é", 10_000)})
	got := answer(t, root, "search_files", `{"pattern":"needle"}`)
	require.True(t, utf8.ValidString(got))
	require.Less(t, len(got), 300)
	require.True(t, strings.HasPrefix(got, "min.js:1: …é"), got)
	require.Contains(t, got, "éneedleé")
	require.True(t, strings.HasSuffix(got, "… [40006 bytes]"), got)
}

// TestExcerpts: so much of a long line is shown around a match, and all of a
// line that is short enough.
func TestExcerpts(t *testing.T) {
	t.Parallel()
	x, y := strings.Repeat("x", 1000), strings.Repeat("y", 1000)
	for line, want := range map[string]string{
		x + "needle" + y:      "…" + x[:80] + "needle" + y[:154] + "… [2006 bytes]",
		"needle" + y:          "needle" + y[:234] + "… [1006 bytes]",
		x + "needle":          "…" + x[:234] + "needle… [1006 bytes]",
		x[:234] + "needle":    x[:234] + "needle",
		x[:235] + "needle":    "…" + x[:234] + "needle… [241 bytes]",
		x[:80] + "needle" + y: x[:80] + "needle" + y[:154] + "… [1086 bytes]",
	} {
		require.Equal(t, want, excerpt(line, strings.Index(line, "needle")))
	}
}

func TestSearchCountsWhatItCouldNotRead(t *testing.T) {
	t.Parallel()
	root, _ := folder(t, nil)
	s := searcher{root: root, left: 1}
	require.NoError(t, s.file("gone"))
	require.NoError(t, s.file("gone too"))
	require.Equal(t, []string{"[no matches]", "[2 files could not be read]"}, s.answer())
}

func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	root, _ := folder(t, map[string]string{"a": strings.Repeat("x\n", 100) + "needle", "b": "needle", "c": "needle"})
	root.bounds.fileBytes = 100
	require.Equal(t, "b:1: needle\nc:1: needle\n[1 file longer than 100 bytes: only the beginning was searched]",
		answer(t, root, "search_files", `{"pattern":"needle"}`))
	root.bounds.allBytes = 106
	require.Equal(t, []string{
		"b:1: needle",
		"[not all was searched: the files hold more than 106 bytes; narrow it with path or glob]",
		"[1 file longer than 100 bytes: only the beginning was searched]",
	}, strings.Split(answer(t, root, "search_files", `{"pattern":"needle"}`), "\n"))
	root.bounds.visited = 2
	require.Contains(t, answer(t, root, "search_files", `{"pattern":"needle","path":"."}`), "[not all was looked at: there are more than 2 entries")
}
