package modelfacts_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/modelfacts"
	"everstep/domain"
)

func with(t *testing.T, table modelfacts.Table, text string) modelfacts.Table {
	t.Helper()
	table, err := table.WithData("prices.yaml", []byte(text))
	require.NoError(t, err)
	return table
}

func TestFindBuiltin(t *testing.T) {
	t.Parallel()
	table := modelfacts.Builtin()
	for name, test := range map[string]struct {
		provider, model string
		ownServer       bool
		input           int64 // nano-dollars; -1: unknown
	}{
		"as it stands":                 {"openai", "gpt-5", true, 1_250_000_000},
		"by the other API":             {"openai-chat", "gpt-5", true, 1_250_000_000},
		"a date with hyphens":          {"openai", "gpt-5-2025-08-07", true, 1_250_000_000},
		"a date without":               {"anthropic", "claude-haiku-4-5-20251001", true, 1_000_000_000},
		"the latest":                   {"anthropic", "claude-haiku-4-5-latest", true, 1_000_000_000},
		"an alias":                     {"anthropic", "claude-sonnet-4-0", true, 3_000_000_000},
		"a dated one of its own price": {"openai", "gpt-4o-2024-05-13", true, 5_000_000_000},
		"Google's":                     {"gemini", "gemini-2.5-pro", true, 1_250_000_000},

		"another server":            {"openai-chat", "gpt-5", false, -1},
		"another server, any API":   {"anthropic", "claude-haiku-4-5", false, -1},
		"a script":                  {"scripted", "gpt-5", true, -1},
		"no such model":             {"openai", "gpt-5-maxi", true, -1},
		"a longer name":             {"openai", "gpt-5-mini-high", true, -1},
		"another form of date":      {"openai", "gpt-5-0807", true, -1},
		"no date: the month":        {"openai", "gpt-5-2025-13-07", true, -1},
		"no date: the century":      {"openai", "gpt-5-19250807", true, -1},
		"no date: the next century": {"openai", "gpt-5-2125-08-07", true, -1},
		"the latest of nothing":     {"openai", "-latest", true, -1},
		"no date: a letter":         {"openai", "gpt-5-2025080x", true, -1},
		"two dates":                 {"openai", "gpt-5-2025-08-07-2025-08-07", true, -1},
		"a date alone":              {"openai", "-2025-08-07", true, -1},
		"nothing":                   {"", "", true, -1},
		"another vendor's adapter":  {"anthropic", "gpt-5", true, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts, ok := table.Find(test.provider, test.model, test.ownServer)
			require.Equal(t, test.input >= 0, ok)
			if ok {
				require.Equal(t, test.input, facts.Price.Input)
				require.Positive(t, facts.ContextWindow)
				require.Contains(t, facts.Source, "built in")
			} else {
				require.Zero(t, facts)
			}
		})
	}
}

// TestFilesComeFirst: an entry holds wherever the server is, and what it leaves out is as built in.
func TestFilesComeFirst(t *testing.T) {
	t.Parallel()
	table := with(t, modelfacts.Builtin(), `
models:
  openai/gpt-5: {input: 0.5, output: 4}
  openai/gpt-4o: {input: 1, output: 2}
  openai-chat/llama-4-70b: {input: 0, output: 0, context_window: 131072, images: false}
  scripted//tmp/a/script.yaml: {input: 1, output: 2}
`)
	for name, test := range map[string]struct {
		provider, model string
		ownServer       bool
		input, window   int64
	}{
		"an entry":                           {"openai", "gpt-5", true, 500_000_000, 400_000},
		"on another server":                  {"openai", "gpt-5", false, 500_000_000, 0},
		"a dated model":                      {"openai", "gpt-5-2025-08-07", true, 500_000_000, 400_000},
		"a free one":                         {"openai-chat", "llama-4-70b", false, 0, 131_072},
		"a script":                           {"scripted", "/tmp/a/script.yaml", false, 1_000_000_000, 0},
		"one that the file does not name":    {"openai", "gpt-5-mini", true, 250_000_000, 400_000},
		"a snapshot":                         {"openai", "gpt-4o-2024-08-06", true, 1_000_000_000, 128_000},
		"a snapshot with a price of its own": {"openai", "gpt-4o-2024-05-13", true, 5_000_000_000, 128_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts, ok := table.Find(test.provider, test.model, test.ownServer)
			require.True(t, ok)
			require.Equal(t, test.input, facts.Price.Input)
			require.Equal(t, test.window, facts.ContextWindow)
		})
	}
	own, _ := table.Find("openai", "gpt-5", true)
	require.Equal(t, &domain.Price{Input: 500_000_000, Output: 4_000_000_000}, own.Price, "nothing of the built-in price")
	require.True(t, *own.Tools)
	require.Equal(t, "prices.yaml", own.Source)
	free, _ := table.Find("openai-chat", "llama-4-70b", false)
	require.Equal(t, &domain.Price{}, free.Price, "free, and known to be")
	require.False(t, *free.Images)
	require.Nil(t, free.Tools)
}

func TestLaterFilesComeFirst(t *testing.T) {
	t.Parallel()
	first := with(t, modelfacts.Table{}, `models: {p/a: {input: 1, output: 1}, p/b: {input: 1, output: 1}}`)
	second := with(t, first, `models: {p/b: {input: 2, output: 2}}`)
	for _, test := range []struct {
		table modelfacts.Table
		model string
		input int64
	}{{second, "a", 1_000_000_000}, {second, "b", 2_000_000_000}, {first, "b", 1_000_000_000}} {
		facts, ok := test.table.Find("p", test.model, false)
		require.True(t, ok)
		require.Equal(t, test.input, facts.Price.Input, "a table never changes")
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.json"), filepath.Join(dir, "bad.yaml")
	require.NoError(t, os.WriteFile(good, []byte("{\n\t\"models\": {\n\t\t\"p/m\": {\"input\": \"1.25\", \"output\": 2.5}\n\t}\n}\n"), 0o600))
	require.NoError(t, os.WriteFile(bad, []byte("models:\n  p/m: {input: -1}\n"), 0o600))
	table, err := modelfacts.Load(good)
	require.NoError(t, err)
	facts, ok := table.Find("p", "m", false)
	require.True(t, ok)
	require.Equal(t, &domain.Price{Input: 1_250_000_000, Output: 2_500_000_000}, facts.Price)

	brim := filepath.Join(dir, "brim.yaml")
	text := "models: {p/m: {input: 1, output: 2}}\n#"
	require.NoError(t, os.WriteFile(brim, append([]byte(text), bytes.Repeat([]byte("x"), 4<<20-len(text))...), 0o600))
	_, err = modelfacts.Load(brim)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(brim, append([]byte(text), bytes.Repeat([]byte("x"), 4<<20-len(text)+1)...), 0o600))
	_, err = modelfacts.Load(brim)
	require.ErrorContains(t, err, "brim.yaml: has 4194305 bytes, more than 4194304")
	_, err = modelfacts.Load("")
	require.ErrorContains(t, err, "is empty; name a file of prices")

	_, err = modelfacts.Load(filepath.Join(dir, "none.yaml"), bad, dir, good)
	require.ErrorContains(t, err, "none.yaml: cannot be read: no such file or directory")
	require.ErrorContains(t, err, bad+":2:16: models.p/m.input: is \"-1\"")
	require.ErrorContains(t, err, dir+": is a directory")
	require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
}
