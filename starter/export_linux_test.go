package main

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever exports as root to a device would otherwise leave a file in its place.
func TestAnOutputThatIsNoFileStaysWhatItIs(t *testing.T) {
	t.Parallel()
	say := func(w io.Writer) error { _, err := io.WriteString(w, "all of it"); return err }
	dir := t.TempDir()

	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	read := make(chan string, 1)
	go func() {
		got, _ := os.ReadFile(pipe)
		read <- string(got)
	}()
	require.NoError(t, writeWhole(pipe, say))
	require.Equal(t, "all of it", <-read)
	is, err := os.Stat(pipe)
	require.NoError(t, err)
	require.Equal(t, os.ModeNamedPipe, is.Mode().Type())

	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Symlink(file, link))
	require.NoError(t, writeWhole(link, say))
	to, err := os.Readlink(link)
	require.NoError(t, err, "the link is there")
	require.Equal(t, file, to)
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "all of it", string(got))
}
