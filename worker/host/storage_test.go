package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/worker/host"
)

func TestOpenStorage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "when needed")
	for _, name := range []string{dir, "file://" + filepath.ToSlash(filepath.Dir(dir)), "mem://"} {
		t.Run(name, func(t *testing.T) {
			bucket, err := host.OpenStorage(t.Context(), name)
			require.NoError(t, err)
			require.NoError(t, bucket.WriteAll(t.Context(), "segments/agent/a/run/0-4-digest", []byte("object"), nil))
			object, err := bucket.ReadAll(t.Context(), "segments/agent/a/run/0-4-digest")
			require.NoError(t, err)
			require.Equal(t, "object", string(object))
			require.NoError(t, bucket.Close())
		})
	}
	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if !entry.IsDir() {
			files = append(files, filepath.Base(path))
		}
		return err
	}))
	require.Equal(t, []string{"0-4-digest"}, files, "the object, and nothing of the probe")
}

func TestNoStorage(t *testing.T) {
	t.Parallel()
	bucket, err := host.OpenStorage(t.Context(), "")
	require.NoError(t, err)
	require.Nil(t, bucket)
}

func TestOpenStorageSaysWhatFails(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, storage := range map[string]string{
		"a file": file, "below a file": filepath.Join(file, "dir"), "no driver": "s3://bucket", "no writing": "/proc/storage",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := host.OpenStorage(t.Context(), storage)
			require.Error(t, err)
			require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
			require.Contains(t, err.Error(), storage)
			require.Contains(t, err.Error(), "--storage (EVERSTEP_STORAGE)")
		})
	}
}
