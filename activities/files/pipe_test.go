//go:build unix

package files

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoToolWaitsForAPipe(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, nil)
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.Contains(t, refusal(t, root, "read_file", fields{"path": "pipe"}).Message, `path: "pipe" is a pipe and not a file`)
	require.Contains(t, refusal(t, root, "write_file", fields{"path": "pipe", "content": ""}).Message, "is a pipe")
	require.Equal(t, "[no matches]", answer(t, root, "search_files", fields{"pattern": "x"}))
	require.Equal(t, "pipe\tpipe", answer(t, root, "list_files", nil))
}

// A pipe may come in a file's place after it was looked at.
func TestAPipeInAFilesPlaceIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, nil)
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	_, err := root.opened("pipe")
	require.ErrorContains(t, err, `path: "pipe" is a pipe and not a file`)
	_, err = (&walker{root: root}).names("pipe")
	require.Error(t, err)
	require.Error(t, root.putAside("pipe", "text", 0))
}
