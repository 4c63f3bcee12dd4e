package agentfile_test

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"everstep/domain"
)

// A broken is a definition with mistakes, and all that is said of it.
type broken struct {
	name, file, text string
	says             []string
}

// brokenAgents are read in brokenFolder: those of testdata/broken.txt, in the form of txtar, and what no such file holds.
func brokenAgents(t testing.TB) []broken {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "broken.txt"))
	require.NoError(t, err)
	all := []broken{
		{"UTF-16", "a.yaml", "\xff\xfem\x00", []string{
			`a.yaml: is in UTF-16; save it as UTF-8`,
		}},
		{"not UTF-8", "a.yaml", "name: a\ndescription: caf\xe9\n", []string{
			`a.yaml:2:1: is not valid UTF-8; save the file as UTF-8`,
		}},
		{"system prompt too long", "a.md", "---\nname: a\n---\n\n" + strings.Repeat("x", domain.MaxSystemPrompt+1) + "\n", []string{
			`a.md:5:1: system_prompt: has 262145 bytes; at most 262144 are allowed`,
		}},
	}
	for i := 0; i < len(archive.Files); i += 2 {
		definition, says := archive.Files[i], archive.Files[i+1]
		name, file := path.Split(definition.Name)
		require.Equal(t, name+"says", says.Name)
		all = append(all, broken{strings.TrimSuffix(name, "/"), file, string(definition.Data), strings.Split(strings.TrimSpace(string(says.Data)), "\n")})
	}
	return all
}
