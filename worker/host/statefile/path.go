package statefile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Resolve gives every name of a file the same spelling, since lock and
// socket are found by it.
func Resolve(path string) (string, error) {
	var err error
	if path == "" {
		path, err = Default()
	} else if path, err = filepath.Abs(path); err != nil {
		err = fmt.Errorf("state file: %w", err)
	}
	if err != nil {
		return "", err
	}
	// The server puts the path into a SQLite URI as it is.
	if strings.ContainsAny(path, "?#%") {
		return "", fmt.Errorf("state file %q: SQLite takes no ?, # or %% in its path: choose another", path)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("state file %q is not a file: give the path of one", path)
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved, nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("state file %q: %w", path, err)
	}
	// A new file, whose directory may be reached by different names.
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path)), nil
	}
	return path, nil
}

// Default is everstep/dev.db in $XDG_STATE_HOME, or in ~/.local/state
// where that is not set.
func Default() (string, error) {
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

// StorageDir is the directory beside a state file for what executions keep
// outside of the server. It is not made. Take the path of [Server].StateFile, or a resolved one.
func StorageDir(stateFile string) string {
	return strings.TrimSuffix(stateFile, ".db") + ".storage"
}

// WorkerFile is a file beside a state file for a worker, by what it serves, such as its server, namespace and task queue. They
// may have any names: so their digest is taken.
func WorkerFile(stateFile, end string, serves ...string) string {
	digest := sha256.Sum256([]byte(strings.Join(serves, "\x00")))
	return strings.TrimSuffix(stateFile, ".db") + ".worker-" + hex.EncodeToString(digest[:8]) + end
}

// ErrLocked means that another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// LockFile opens a file, or makes it, and takes its lock; see [Lock].
func LockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := Lock(file); err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	return file, nil
}

// Files are those that a dev server has of a state file, beside its storage.
func Files(stateFile string) []string {
	return []string{stateFile, stateFile + "-wal", stateFile + "-shm", stateFile + ".sock", stateFile + ".lock", stateFile + ".log", StorageDir(stateFile)}
}

// Room is nil where the folder of a state file has room for more of it, else an error that
// names the folder, such as one of a full disk.
func Room(stateFile string) error {
	folder := filepath.Dir(stateFile)
	file, err := os.CreateTemp(folder, ".room-*")
	if err == nil {
		_, err = file.Write(make([]byte, 1<<20)) // a page of the database would not tell of its log
		err = errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	if err == nil {
		return nil
	}
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		err = failed.Err // the file's name tells nobody anything
	}
	return fmt.Errorf("the dev server cannot write its state in %s: %w", folder, err)
}

// PrivateDir is a directory of this user alone with a short path, for sockets
// whose own path would be too long and for what all servers of a user share.
func PrivateDir() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("everstep-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make a directory for sockets: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("look at the directory for sockets: %w", err)
	}
	if owner, _, known := owners(info); !info.IsDir() || info.Mode().Perm() != 0o700 || !known || owner != os.Getuid() {
		return "", fmt.Errorf("%s is not a directory of yours alone: remove it, or set TMPDIR", dir)
	}
	return dir, nil
}

// CheckWriters is an error where another user than root may change a file, or put one of its own into a folder: there a
// file or a link can lie under any name before this user writes to it.
func CheckWriters(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("see who may write to %s: %w", path, err)
	}
	user, group, known := owners(info)
	switch mode := info.Mode().Perm(); {
	case !known:
		return nil
	case user != os.Geteuid() && user != 0:
		return fmt.Errorf("%s is user %d's", path, user)
	case mode&0o002 != 0:
		return fmt.Errorf("any user may write to %s", path)
	case mode&0o020 != 0 && group != os.Getegid() && group != 0:
		return fmt.Errorf("users of group %d may write to %s", group, path)
	}
	return nil
}
