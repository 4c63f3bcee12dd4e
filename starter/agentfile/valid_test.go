package agentfile_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"everstep/activities/document"
	"everstep/domain"
	"everstep/starter/agentfile"
	"everstep/testsuite/golden"
)

var update = flag.Bool("update", false, "write the golden files anew")

// validFiles are the agents in testdata.
func validFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "valid", "*.[ym]*"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 6)
	return files
}

func TestValidAgents(t *testing.T) {
	t.Parallel()
	for _, path := range validFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			f, err := agentfile.Settings{}.Load(path)
			require.NoError(t, err)
			require.Equal(t, path, f.Definition.Source)
			type whole struct {
				Definition domain.Definition `json:"definition"`
				Resolved   document.Shown    `json:"resolved"`
			}
			got, err := json.MarshalIndent(whole{f.Definition, f.Resolve()}, "", "  ")
			require.NoError(t, err)
			want := filepath.Join("testdata", "golden", filepath.Base(path)+".json")
			golden.Compare(t, want, string(got)+"\n", *update)
			requireSameAgain(t, f)
		})
	}
}

// requireSameAgain checks that what is shown of an agent is an agent's file of
// the same agent, as YAML and as JSON.
func requireSameAgain(t *testing.T, f agentfile.File) {
	t.Helper()
	shown := f.Resolve()
	asYAML, err := shown.YAML()
	require.NoError(t, err)
	asJSON, err := json.Marshal(shown)
	require.NoError(t, err)
	for _, text := range [][]byte{asYAML, asJSON} {
		again, err := agentfile.Settings{}.Parse("again.yaml", text)
		require.NoError(t, err, "%s", text)
		second, err := json.Marshal(again.Resolve())
		require.NoError(t, err)
		require.JSONEq(t, string(asJSON), string(second))
	}
}

func TestWhatWindowsEditorsWrite(t *testing.T) {
	t.Parallel()
	const plain = "---\nname: a\nmodel: p/n\n---\n\nReview.\n\nBriefly.\n"
	want, err := agentfile.Settings{}.Parse("a.md", []byte(plain))
	require.NoError(t, err)
	require.Equal(t, "Review.\n\nBriefly.", want.Definition.SystemPrompt)
	for _, text := range []string{
		"\ufeff" + plain, strings.ReplaceAll(plain, "\n", "\r\n"), "\ufeff" + strings.ReplaceAll(plain, "\n", "\r\n"),
		strings.ReplaceAll(plain, "\n", "\r"), strings.ReplaceAll(plain, "---\n", "--- \t\n"),
	} {
		got, err := agentfile.Settings{}.Parse("a.md", []byte(text))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestPromptsOfControlCharactersAreShown(t *testing.T) {
	t.Parallel()
	f, err := agentfile.Settings{}.Parse("a.md", []byte("---\nmodel: p/n\n---\nStop\x7f\u009b \ufeff\u2028 \U000e0001 here\n"))
	require.NoError(t, err)
	require.Equal(t, "Stop\x7f\u009b \ufeff\u2028 \U000e0001 here", f.Definition.SystemPrompt)
	requireSameAgain(t, f)
}

func TestNameIsTheFilesUnlessGiven(t *testing.T) {
	t.Parallel()
	f, err := agentfile.Settings{}.Parse(filepath.Join("x", "my agent.yaml"), []byte("model: p/n\n"))
	require.NoError(t, err)
	require.Equal(t, "my agent", f.Name)
}

func TestScriptsLieBesideTheAgent(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, text := range []string{"model: scripted/play/hello.yaml\n", "model: {provider: scripted, name: play/hello.yaml}\n"} {
		f, err := agentfile.Settings{}.Parse(filepath.Join(folder, "a.yaml"), []byte(text))
		require.NoError(t, err)
		require.Equal(t, filepath.Join(folder, "play", "hello.yaml"), f.Definition.Model.Model)
	}
	f, err := agentfile.Settings{}.Parse("a.yaml", []byte("model: scripted//abs/hello.yaml\n"))
	require.NoError(t, err)
	require.Equal(t, "/abs/hello.yaml", f.Definition.Model.Model)
	f, err = agentfile.Settings{}.Parse("a.yaml", []byte("model: scripted/hello.yaml\n"))
	require.NoError(t, err)
	require.True(t, filepath.IsAbs(f.Definition.Model.Model))
}

func TestMoneyIsExact(t *testing.T) {
	t.Parallel()
	for text, nano := range map[string]int64{
		"0": 0, "0.5": 500_000_000, "'0.50'": 500_000_000, "1": 1_000_000_000, "0.000000001": 1, "1.100000000000": 1_100_000_000,
		"9223372036.854775807": 9_223_372_036_854_775_807, "00.1": 100_000_000, "0.1": 100_000_000, "0.3": 300_000_000,
	} {
		f, err := agentfile.Settings{}.Parse("a.yaml", []byte("budget: {max_cost: "+text+"}\n"))
		require.NoError(t, err, text)
		require.Equal(t, nano, *f.Definition.Budget.MaxCostNanoUSD, text)
	}
	for _, text := range []string{"9223372036.854775808", "0.0000000001", "-0", "+1", ".5", "5.", "1_000", "0x10", "''", "'1,5'", "[]", "!!float 1"} {
		_, err := agentfile.Settings{}.Parse("a.yaml", []byte("budget: {max_cost: "+text+"}\n"))
		require.ErrorContains(t, err, "a.yaml:1:20: ", text)
	}
}

func TestDeadlineIsInUTC(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"2030-01-31T13:00:00+01:00", "'2030-01-31T12:00:00Z'"} {
		f, err := agentfile.Settings{}.Parse("a.yaml", []byte("budget: {deadline: "+text+"}\n"))
		require.NoError(t, err)
		require.Equal(t, time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC), *f.Definition.Budget.Deadline)
	}
}

func FuzzParse(f *testing.F) {
	for _, b := range brokenAgents(f) {
		f.Add(strings.HasSuffix(b.file, ".md"), false, []byte(b.text))
	}
	files, _ := filepath.Glob(filepath.Join("testdata", "valid", "*.[ym]*"))
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(strings.HasSuffix(path, ".md"), false, text)
	}
	archive, err := txtar.ParseFile(filepath.Join("testdata", "foreign.txt"))
	require.NoError(f, err)
	for i := 0; i < len(archive.Files); i += 2 {
		f.Add(true, true, archive.Files[i].Data)
	}
	f.Fuzz(func(t *testing.T, markdown, foreign bool, text []byte) {
		path := "a.yaml"
		if markdown {
			path = "a.md"
		}
		if foreign {
			path = ".opencode/agent/a.md"
		}
		file, err := worker().Parse(path, text)
		if err == nil && file.Dialect != "" {
			require.True(t, file.Definition.Approvals.LeaveTheRest())
			for _, name := range file.Definition.Tools {
				require.True(t, domain.NamesTool(worker().Tools, name), name)
			}
		}
		if err == nil {
			requireSameAgain(t, file)
			return
		}
		problems := err.(document.Problems) //nolint:errorlint,forcetypeassert // the type is promised
		last := 0
		for _, p := range problems {
			require.Equal(t, path, p.File)
			require.NotEmpty(t, p.Message)
			require.GreaterOrEqual(t, p.Line, last)
			last = p.Line
		}
	})
}
