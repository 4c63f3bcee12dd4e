//go:build unix

package files

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pipe may come in a file's place after it was looked at.
func TestAPipeInAFilesPlaceIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, nil)
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	file, err := root.atOnce("pipe")
	require.NoError(t, err)
	_, err = root.regular("pipe", file.Stat)
	require.ErrorContains(t, err, `path: "pipe" is a pipe and not a file`)
	_, err = (&walker{root: root}).names("pipe")
	require.Error(t, err)
	require.Error(t, root.putAside("pipe", "text", 0))
}
