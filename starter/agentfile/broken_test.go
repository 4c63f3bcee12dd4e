package agentfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// brokenFolder is a folder with what the broken agents name.
func brokenFolder(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "agents")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "schemas"), 0o700))
	for name, text := range map[string]string{
		"verdict.json":    `{"type": "object"}`,
		"broken.json":     "{\n  \"type\": object\n}\n",
		"large.json":      `{"title": "` + strings.Repeat("x", 400_000) + `"}`,
		"../outside.json": `{"type": "object"}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Symlink(filepath.Join("..", "outside.json"), filepath.Join(folder, "link.json")))
	return folder
}
