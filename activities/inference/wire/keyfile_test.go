//go:build unix

package wire_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

func TestFileKey(t *testing.T) {
	t.Parallel()
	const canary = "sk-canary"
	tests := map[string]struct {
		content string
		mode    os.FileMode
		want    string
		wrong   string
	}{
		"a key":             {content: canary, mode: 0o600, want: canary},
		"with a line end":   {content: canary + "\r\n", mode: 0o400, want: canary},
		"readable by group": {content: canary, mode: 0o640, wrong: "chmod 600"},
		"readable by all":   {content: canary, mode: 0o604, wrong: "chmod 600"},
		"writable by all":   {content: canary, mode: 0o602, wrong: "chmod 600"},
		"empty":             {content: " \n", mode: 0o600, wrong: "is empty"},
		"two lines":         {content: canary + "\nx", mode: 0o600, wrong: "more than one line"},
		"a control":         {content: canary + "\x00x", mode: 0o600, wrong: "characters"},
		"a space inside":    {content: "Bearer " + canary, mode: 0o600, wrong: "characters"},
		"the longest":       {content: strings.Repeat("k", 8<<10), mode: 0o600, want: strings.Repeat("k", 8<<10)},
		"too long":          {content: canary + strings.Repeat("k", 8<<10), mode: 0o600, wrong: "more than 8192 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "key")
			require.NoError(t, os.WriteFile(path, []byte(test.content), 0o600))
			require.NoError(t, os.Chmod(path, test.mode))
			key, err := wire.FileKey(path)()
			require.Equal(t, test.want, key)
			if test.wrong == "" {
				require.NoError(t, err)
				return
			}
			requireKeyError(t, err, path, test.wrong)
			require.NotContains(t, err.Error(), canary)
		})
	}
}

func requireKeyError(t *testing.T, err error, path, wrong string) {
	t.Helper()
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, wrong)
	require.Equal(t, domain.CodeAuth, domain.AsError(err).Code)
	require.Equal(t, domain.Denied, domain.AsError(err).Kind)
}

func TestFileKeyOfNoFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, err := wire.FileKey(filepath.Join(folder, "none"))()
	requireKeyError(t, err, "none", "cannot be read")
	_, err = wire.FileKey(folder)()
	requireKeyError(t, err, folder, "not a regular file")
	pipe := filepath.Join(folder, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = wire.FileKey(pipe)()
	requireKeyError(t, err, pipe, "not a regular file")
}

// TestFileKeyRotates: another key counts at once, whether the file was
// replaced, written over with one of the same length, or reached by a link.
func TestFileKeyRotates(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, link := filepath.Join(folder, "key"), filepath.Join(folder, "link")
	require.NoError(t, os.Symlink(path, link))
	source := wire.FileKey(link)
	require.NoError(t, os.WriteFile(path, []byte("first"), 0o600))
	key, err := source()
	require.NoError(t, err)
	require.Equal(t, "first", key)
	require.NoError(t, os.WriteFile(path, []byte("other"), 0o600))
	key, err = source()
	require.NoError(t, err)
	require.Equal(t, "other", key)
	require.NoError(t, os.WriteFile(path+".new", []byte("third"), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
	key, err = source()
	require.NoError(t, err)
	require.Equal(t, "third", key)
}
