package devserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// DefaultStateFile is everstep/dev.db in $XDG_STATE_HOME, or in ~/.local/state
// where that is not set.
func DefaultStateFile() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no place for the dev server's state: %w: name a state file, or set XDG_STATE_HOME", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "everstep", "dev.db"), nil
}

// defaultCacheDir is where fetched and built servers are kept.
func defaultCacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for a dev server: %w: install the temporal CLI, or set XDG_CACHE_HOME", err)
	}
	return filepath.Join(cache, "everstep", "temporal"), nil
}

// privateDir is a directory of this user alone with a short path, for sockets
// whose own path would be too long and for what all servers of a user share.
func privateDir() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("everstep-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make a directory for sockets: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("look at the directory for sockets: %w", err)
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ownedByMe(info) {
		return "", fmt.Errorf("%s is not a directory of yours alone: remove it, or set TMPDIR", dir)
	}
	return dir, nil
}

// supervisorEnvironment is the little that a process needs that outlives the
// one that starts it. Keys of model providers stay out of it.
func supervisorEnvironment() []string {
	keep := []string{"HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER"}
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !slices.Contains(keep, name)
	})
}

// buildEnvironment undoes what a user's settings could change about the build.
// An empty GOFLAGS would fall back to the one that `go env -w` has stored, so
// it gets a flag that is given anyway.
func buildEnvironment(binDir string) []string {
	return append(os.Environ(),
		"GOBIN="+binDir, "GOFLAGS=-v", "GOWORK=off", "GO111MODULE=on",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
}
