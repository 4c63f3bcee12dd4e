package mcp

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"everstep/testsuite/golden"
)

var update = flag.Bool("update", false, "write what is read")

// TestFilesAsTheyAre: of each form that programs have, all servers are read that can be, and one line says of each other why not.
func TestFilesAsTheyAre(t *testing.T) {
	t.Parallel()
	const path = "testdata/files.txtar"
	kept, err := txtar.ParseFile(path)
	require.NoError(t, err)
	dir := t.TempDir()
	now := &txtar.Archive{Comment: kept.Comment}
	for _, file := range kept.Files {
		if strings.HasSuffix(file.Name, ".read") {
			continue
		}
		name := filepath.Join(dir, file.Name)
		require.NoError(t, os.WriteFile(name, file.Data, 0o600))
		servers, err := Load(name)
		require.NoError(t, err, file.Name)
		var read strings.Builder
		for _, s := range servers {
			fmt.Fprintf(&read, "%s:", s.Name)
			for _, part := range []struct {
				name  string
				value any
				given bool
			}{
				{"command", s.Command, s.Command != ""},
				{"args", fmt.Sprintf("%q", s.Args), len(s.Args) > 0},
				{"env", s.Env, len(s.Env) > 0},
				{"envFile", s.EnvFile, s.EnvFile != ""},
				{"url", s.URL, s.URL != ""},
				{"headers", s.Headers, len(s.Headers) > 0},
				{"tools", s.Tools, s.Tools != nil},
				{"without", s.Without, s.Without != nil},
				{"timeout", s.Timeout, s.Timeout != 0},
				{"inputs", s.Inputs, len(s.Inputs) > 0},
				{"disabled", "", s.Disabled},
			} {
				if part.given {
					fmt.Fprintf(&read, " %s %v", part.name, part.value)
				}
			}
			read.WriteString("\n")
			for _, note := range s.Notes {
				fmt.Fprintf(&read, "  note: %s\n", note)
			}
			if s.Problem != "" {
				fmt.Fprintf(&read, "  problem: %s\n", s.Problem)
			}
		}
		now.Files = append(now.Files, file, txtar.File{Name: file.Name + ".read", Data: []byte(strings.ReplaceAll(read.String(), dir, "DIR"))})
	}
	golden.Compare(t, path, string(txtar.Format(now)), *update)
}
