package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/activities/record/conformance"
	"everstep/worker/host"
)

// importing is a caller whose records hold what a file of three executions of ann has brought; no server is up.
func importing(t *testing.T) *caller {
	t.Helper()
	c := newCaller(t)
	c.variables[host.RecordsVariable] = filepath.Join(t.TempDir(), "records")
	var file bytes.Buffer
	require.NoError(t, record.Compressed(&file, conformance.Sample(t, "ann", 3)...))
	name := filepath.Join(t.TempDir(), "ann.jsonl.zst")
	require.NoError(t, os.WriteFile(name, file.Bytes(), 0o600))
	code, _, stderr := c.call(t.Context(), "import", name)
	require.Zero(t, code, stderr)
	return c
}

// TestImportedAgentsWithoutAServer by each command that reads, which says so; nothing is started for it.
func TestImportedAgentsWithoutAServer(t *testing.T) {
	t.Parallel()
	c := importing(t)
	for line, want := range map[string]string{
		"list --records":                        "completed, imported",
		"list --records --status stopped":       "",
		"history ann":                           "stopped (user_requested), imported",
		"history an":                            "completed, imported",
		"steps ann --execution 2":               "stop",
		"steps ann --tree":                      "stop",
		"messages ann":                          "What of <ann>?",
		"result ann --raw":                      "Nothing.",
		"status ann":                            "it was imported on 2030-01-31 12:00 UTC, and can only be read here",
		"explain ann":                           "none is here: the record of the execution tells, which was imported",
		"explain ann --tree":                    "completed",
		"diff ann:1 ann:3":                      "no step differs",
		"export ann --execution 1":              `"format":"everstep-records"`,
		"history ann --json":                    `"imported_at":"2030-01-31T12:00:00Z"`,
		"list --records --json":                 `"imported_at":"2030-01-31T12:00:00Z"`,
		"result ann --json":                     `"imported_at":"2030-01-31T12:00:00Z"`,
		"explain ann --json":                    `"imported_at":"2030-01-31T12:00:00Z"`,
		"__complete status a":                   "ann\tcompleted",
		"__complete steps ann --execution \"\"": "",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := c.call(t.Context(), strings.Fields(line)...)
			require.Zero(t, code, stderr)
			require.Contains(t, stdout, want)
			if !strings.HasPrefix(line, "__") {
				require.Contains(t, stderr, "no server is up: this is what the records tell")
			}
		})
	}
}

// TestWhatAnImportedAgentCannot says what is missing.
func TestWhatAnImportedAgentCannot(t *testing.T) {
	t.Parallel()
	c := importing(t)
	for line, want := range map[string]string{
		"send ann more":            "none is up",
		"fork ann again":           "none is up",
		"list":                     "none is up",
		"status bob":               "none is up",
		"result ann --execution 7": "none is up",
	} {
		code, stdout, stderr := c.call(t.Context(), strings.Fields(line)...)
		require.Equal(t, exitUnreachable, code, "%s: %s", line, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, want)
	}
	delete(c.variables, host.RecordsVariable)
	code, _, stderr := c.call(t.Context(), "list", "--records")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "records: no store is named")
}
