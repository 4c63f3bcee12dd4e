package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestVariablesOfAFile reach that server alone, as they stand there, and what env says goes before them.
func TestVariablesOfAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), ".env")
	require.NoError(t, os.WriteFile(file, []byte("\ufeff# comment\r\n\r\nexport PORT = 3000 # of the server\r\nSHOP_KEY='sesame # ${HOME}'\r\nTEXT=\"a 'b'\" # c\r\nEMPTY=\r\nOWN=file\r\nURL=https://a.example.com/#x\r\nAPI_KEY=sesame-8\r\nMAX_TOKENS=e\r\nAUTH_ON=true\r\nKEYS=12\r\n"), 0o600))
	var hidden []string
	s := openServers(t, Options{Keep: func(text string) { hidden = append(hidden, text) }},
		programOf(t, "1", func(s *Server) { s.EnvFile, s.Env = file, []Variable{{"OWN", "env"}} }), Server{Name: "other", Command: os.DevNull})
	got := strings.Split(said(t, s, "s__env", args{}), "\n")
	require.Subset(t, got, []string{"PORT=3000", "SHOP_KEY=sesame # ${HOME}", "TEXT=a 'b'", "EMPTY=", "OWN=env", "URL=https://a.example.com/#x"})
	require.NotContains(t, got, "OWN=file")
	require.Equal(t, []string{"sesame # ${HOME}", "https://a.example.com/#x", "sesame-8"}, hidden)
}

// TestAFileOfVariablesThatIsNone stops its server alone, and none of its lines is shown.
func TestAFileOfVariablesThatIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	none := func(string) (string, error) { return "", Unset("none") }
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "cannot be read: no such file or directory; name a file that can",
		dir:                        "is no file; name one",
		os.DevNull:                 "is no file; name one",
		file("big", strings.Repeat("#", 70_000), 0o600):       "has more than 65536 bytes; make it smaller",
		file("lines", "A=b\nsesame\n", 0o600):                 "is not NAME=VALUE in line 2",
		file("name", "1A=sesame", 0o600):                      "is not NAME=VALUE in line 1",
		file("quote", "A=\"sesame", 0o600):                    "opens a quote in line 1 that it does not close",
		file("zero", "A=sesame\x00", 0o600):                   "is not NAME=VALUE in line 1",
		file("many", strings.Repeat("A=sesame\n", 65), 0o600): "has more than 64 variables",
		file("open", "A=sesame", 0o622):                       "may be changed by others than its owner, and so the program; chmod go-w",
	} {
		server := programOf(t, "1", func(s *Server) { s.EnvFile = path })
		problem := server.With(none, none).Problem
		require.Contains(t, problem, "envFile: "+path+" ")
		require.Contains(t, problem, want)
		require.NotContains(t, problem, "sesame")
		_, err := openServers(t, Options{}, server).Find(t.Context(), "s__env")
		require.ErrorContains(t, err, want)
		require.Equal(t, domain.Invalid, domain.AsError(err).Kind, path)
	}
}
