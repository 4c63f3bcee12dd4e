package testsuite_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/testsuite"
)

// document reads a file of the repository's root.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	require.NoError(t, err)
	return string(text)
}

// TestReadmeNamesWhatExists: the tests that the documents rest on are there, and
// so are the files that they link to.
func TestReadmeNamesWhatExists(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllStringSubmatch(string(text), -1) {
			declared[found[1]] = true
		}
		return err
	})
	require.NoError(t, err)
	named := regexp.MustCompile("`((?:Test|Benchmark|Fuzz)\\w+)`")
	linked := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"} {
		text := document(t, name)
		for _, found := range named.FindAllStringSubmatch(text, -1) {
			require.True(t, declared[found[1]], "%s names %s, which is no test", name, found[1])
		}
		for _, found := range linked.FindAllStringSubmatch(text, -1) {
			require.FileExists(t, filepath.Join("..", found[1]), name)
		}
	}
}

// TestReadmeScript plays the script that the README shows.
func TestReadmeScript(t *testing.T) {
	t.Parallel()
	_, rest, found := strings.Cut(document(t, "README.md"), "```yaml\n")
	require.True(t, found)
	script, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	run := testsuite.New(t, testsuite.Config{Script: script, Dir: dir}).Run("go")
	require.Equal(t, domain.StatusCompleted, run.Outcome.Status, "%v", run.Error)
	require.Equal(t, "The folder holds 3 entries.", run.Answer)
	require.Len(t, run.Asked, 4, "two attempts failed")
}
