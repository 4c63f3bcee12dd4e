package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/testsuite/stores"
	"everstep/worker/host"
)

// importing is a caller whose records hold what a file of three executions of ann has brought; no server is up.
func importing(t *testing.T) *caller {
	t.Helper()
	c := newCaller(t)
	c.variables[host.RecordsVariable] = filepath.Join(t.TempDir(), "records")
	var file bytes.Buffer
	require.NoError(t, record.Compressed(&file, stores.Sample(t, "ann", 3)...))
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
		"executions ann":                        "stopped (user_requested), imported",
		"executions an":                         "completed, imported",
		"steps ann --execution 2":               "stop",
		"steps ann --tree":                      "stop",
		"messages ann":                          "What of <ann>?",
		"result ann --raw":                      "Nothing.",
		"status ann":                            "it was imported on 2030-01-31 12:00 UTC, and can only be read here",
		"explain ann":                           "none is here: the record of the execution tells, which was imported",
		"explain ann --tree":                    "completed",
		"watch ann":                             "Nothing.",
		"watch ann --execution 1 --json":        `"type":"AgentExecutionCompleted"`,
		"approvals ann --json":                  "[]",
		"export ann --session":                  `"execution_count":3`,
		"diff ann:1 ann:3":                      "no step differs",
		"export ann --execution 1":              `"format":"everstep-records"`,
		"executions ann --json":                 `"imported_at":"2030-01-31T12:00:00Z"`,
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
			require.False(t, strings.ContainsFunc(stdout, domain.Steering), "%.900q", stdout)
			if strings.HasPrefix(line, "result") {
				require.Contains(t, stderr, "execution 3 was imported on 2030-01-31: what it answered is told by a file")
			}
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
	for _, line := range []string{"watch bob", "approvals bob", "messages bob", "steps bob", "export bob --session"} {
		code, _, stderr := c.call(t.Context(), strings.Fields(line)...)
		require.Equal(t, exitUnreachable, code, "%s: %s", line, stderr)
		require.Contains(t, stderr, "the records tell nothing of bob", line)
	}
	code, _, stderr := c.call(t.Context(), "watch", "ann", "--execution", "2")
	require.Equal(t, exitStopped, code, "by its outcome, as that of one that is followed: %s", stderr)
	code, stdout, stderr := c.call(t.Context(), "watch", "ann", "--json")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "AgentExecution")
	delete(c.variables, host.RecordsVariable)
	code, _, stderr = c.call(t.Context(), "list", "--records")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "records: there is no store here")
	code, _, stderr = c.call(t.Context(), "watch", "ann")
	require.Equal(t, exitNotFound, code, stderr)
}

// TestImportSaysWhatToDo about what it cannot read, and leaves nothing of it among the records.
func TestImportSaysWhatToDo(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	store := filepath.Join(t.TempDir(), "records")
	c.variables[host.RecordsVariable] = store
	dir := t.TempDir()
	var file bytes.Buffer
	all := stores.Sample(t, "ann", 3)
	require.NoError(t, record.Write(&file, all...))
	saved, err := all[2].FinalState.EncodeSession()
	require.NoError(t, err)
	session := string(saved) + "\n"
	for name, test := range map[string]struct {
		content string
		want    string
	}{
		"cut":                  {file.String()[:file.Len()/2], "it was cut off; export it again, or copy it anew"},
		"other":                {`{"a":1}` + "\n", "give a file that export has written"},
		"a saved session":      {session, "is a saved session, which run takes as --messages FILE"},
		"a long saved session": {strings.Replace(session, `"agent_id"`, `"more":"`+strings.Repeat("x", 1<<17)+`","agent_id"`, 1), "is a saved session, which run takes as --messages FILE"},
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(test.content), 0o600))
		code, stdout, stderr := c.call(t.Context(), "import", path)
		require.Equal(t, exitUsage, code, "%s: %s", name, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, path+": line ", name)
		require.Contains(t, stderr, test.want, name)
	}
	for name, want := range map[string]string{filepath.Join(dir, "none"): "there is no file ", dir: "is a folder; give a file", "": "file: is empty"} {
		code, _, stderr := c.call(t.Context(), "import", name)
		require.Equal(t, exitUsage, code, stderr)
		require.Contains(t, stderr, want)
		require.Contains(t, stderr, "`starter import notes.jsonl.zst` is an example")
	}
	left, err := filepath.Glob(filepath.Join(store, "*", "*"))
	require.NoError(t, err)
	require.Empty(t, left)

	whole := filepath.Join(dir, "whole")
	require.NoError(t, os.WriteFile(whole, file.Bytes(), 0o600))
	for _, want := range []string{"imported 3 executions", "0 executions into " + store + "; 3 were there already"} {
		code, _, stderr := c.call(t.Context(), "import", whole)
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, want)
	}
	all[2].Ended.Answer = "Something."
	file.Reset()
	require.NoError(t, record.Write(&file, append(all, stores.Sample(t, "bob", 1)...)...))
	require.NoError(t, os.WriteFile(whole, file.Bytes(), 0o600))
	code, _, stderr := c.call(t.Context(), "import", whole)
	require.Equal(t, exitRefused, code, stderr)
	require.Contains(t, stderr, "differs from that of the file; nothing was imported; name another store to have both")
	code, stdout, _ := c.call(t.Context(), "list", "--records", "--json")
	require.Zero(t, code)
	require.NotContains(t, stdout, "bob", "all or none")
}
