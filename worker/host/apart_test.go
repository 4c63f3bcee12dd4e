package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// What workers keep does not lie where agents read and write, nor the other way round, through links either.
func TestAgentsDoNotReachWhatWorkersKeep(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir, other := filepath.Join(top, "project"), filepath.Join(top, "kept")
	for _, folder := range []string{filepath.Join(dir, "in"), filepath.Join(other, "files")} {
		require.NoError(t, os.MkdirAll(folder, 0o700))
	}
	link := func(name, to string) string {
		require.NoError(t, os.Symlink(to, filepath.Join(top, name)))
		return filepath.Join(top, name)
	}
	into, toAll := link("into", filepath.Join(dir, "in")), link("to-all", other)
	dangling := link("dangling", filepath.Join("project", "not", "there"))
	for name, one := range map[string]struct {
		dir, kept string
		ok        bool
	}{
		"beside":                        {dir, other, true},
		"beside, with a like name":      {dir, dir + "-records", true},
		"a bucket":                      {dir, "mem://", true},
		"nothing":                       {dir, "", true},
		"no folder":                     {"", filepath.Join(dir, "in"), true},
		"the folder":                    {dir, dir, false},
		"in it":                         {dir, filepath.Join(dir, "in"), false},
		"in it, not there yet":          {dir, filepath.Join(dir, "new", "records"), false},
		"in it, as a URL":               {dir, "file://" + filepath.ToSlash(filepath.Join(dir, "records")), false},
		"in it, through a link":         {dir, into, false},
		"in it, through a link, deeper": {dir, filepath.Join(into, "a", "b"), false},
		"in it, through a dead link":    {dir, dangling, false},
		"around it":                     {filepath.Join(other, "files"), other, false},
		"around it, through a link":     {filepath.Join(toAll, "files"), other, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for field, config := range map[string]Config{"storage: ": {Dir: one.dir, Storage: one.kept}, "records: ": {Dir: one.dir, Records: one.kept}} {
				m, err := gather(t.Context(), config.withDefaults())
				if one.ok {
					require.NoError(t, err)
					require.NoError(t, m.close())
					continue
				}
				require.ErrorContains(t, err, field)
				require.ErrorContains(t, err, "--dir (EVERSTEP_DIR)")
				require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
			}
		})
	}
	require.NoDirExists(t, filepath.Join(dir, "new"), "it is refused before anything is made")
}
