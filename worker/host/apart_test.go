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
				if one.ok {
					gathered(t, config)
					continue
				}
				_, err := ready(t.Context(), config)
				require.ErrorContains(t, err, field)
				require.ErrorContains(t, err, "--dir (EVERSTEP_DIR)")
				require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
			}
		})
	}
	require.NoDirExists(t, filepath.Join(dir, "new"), "it is refused before anything is made")
}

// Agents reach neither the state by which calls are approved nor what workers hold in memory.
func TestAgentsDoNotReachTheState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for says, config := range map[string]Config{
		"state: ": {Dir: dir, Connection: Connection{State: filepath.Join(dir, "everstep", "dev.db")}},
		"seat: ":  {Dir: dir, Connection: Connection{Seat: filepath.Join(dir, "seat")}},
		"dir: / ": {Dir: "/"},
		"dir: /p": {Dir: "/proc"},
	} {
		_, err := ready(t.Context(), config)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "--dir (EVERSTEP_DIR)")
		require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
	}
}

// The default state is meant where a worker names another server, too: it may be that of other agents.
func TestAgentsDoNotReachTheDefaultState(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	gathered(t, Config{Dir: home})
	require.NoError(t, os.MkdirAll(filepath.Join(home, "state", "everstep"), 0o700))
	_, err := ready(t.Context(), Config{Dir: home})
	require.ErrorContains(t, err, "state: ")
}

// Of a state file commands see nothing of its folder, unless the folder has to do with more than that.
func TestCommandsSeeNothingThatWorkersKeep(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", filepath.Join(home, "user"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "default"))
	dir := filepath.Join(home, "project")
	kept := func(state string) []string {
		return Config{Storage: "/s", Records: "file:///r", Connection: Connection{State: state, Seat: "/seat"}}.unseen(dir)
	}
	require.Equal(t, append(append([]string{"/s", "/r"}, seatsFrom("/seat")...), filepath.Join(home, "state")), kept(filepath.Join(home, "state", "dev.db")))
	require.Contains(t, kept(filepath.Join(home, "dev.db")), filepath.Join(home, "dev.db.sock"), "the folder holds the project")
	require.Contains(t, kept(filepath.Join(home, "user", "dev.db")), filepath.Join(home, "user", "dev.storage"))
	require.NotContains(t, kept(filepath.Join(home, "user", "dev.db")), filepath.Join(home, "user"))
	require.Equal(t, append([]string{"/s", "/r"}, seatsFrom("/seat")...), kept(""))
}
