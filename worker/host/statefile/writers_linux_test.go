package statefile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhoElseMayWrite: a folder in which another user may put files is no place for this user's.
func TestWhoElseMayWrite(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED with a second user: this takes root")
	}
	for name, c := range map[string]struct {
		user, group int
		mode        os.FileMode
		wrong       string
	}{
		"private":          {0, 0, 0o700, ""},
		"read by others":   {0, 0, 0o755, ""},
		"its own group":    {0, 0, 0o775, ""},
		"of another user":  {4242, 0, 0o700, " is user 4242's"},
		"open to all":      {0, 0, 0o777, "any user may write to "},
		"like /tmp":        {0, 0, 0o777 | os.ModeSticky, "any user may write to "},
		"open to a group":  {0, 4242, 0o770, "users of group 4242 may write to "},
		"shown to a group": {0, 4242, 0o750, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "folder")
			require.NoError(t, os.Mkdir(folder, 0o700))
			require.NoError(t, os.Chown(folder, c.user, c.group))
			require.NoError(t, os.Chmod(folder, c.mode))
			if err := CheckWriters(folder); c.wrong == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.wrong)
			}
		})
	}
	require.ErrorIs(t, CheckWriters(filepath.Join(t.TempDir(), "none")), os.ErrNotExist)
}
