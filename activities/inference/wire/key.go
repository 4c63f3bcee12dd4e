package wire

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"everstep/domain"
)

// A Key is a source of a key. It is asked once for each attempt, so a key that
// was rotated is used from the next one on. An empty key means none. Its error
// says what to do and never holds the key. It is called by many at once.
type Key func() (string, error)

// FixedKey is a key that stays as it is. Empty is none.
func FixedKey(key string) Key { return func() (string, error) { return key, nil } }

// KeyFrom is the key that an environment variable holds. It refuses what is empty and what no
// key has; the error names the variable.
func KeyFrom(variable, value string) (Key, error) {
	if value == "" {
		return nil, domain.CodedErrorf(domain.Denied, domain.CodeAuth, "%s: is empty; set it to the key, or unset it", variable)
	}
	if err := checkKey(variable, value); err != nil {
		return nil, err
	}
	return FixedKey(value), nil
}

// checkKey refuses what cannot be a header's value, or would not be what was meant.
func checkKey(where, key string) error {
	if !printable.MatchString(key) {
		return domain.Invalidf("%s: has characters that no key has; set it again without quotes or line ends", where)
	}
	return nil
}

// printable finds texts that have only characters of ASCII that are seen.
var printable = regexp.MustCompile(`^[!-~]*$`)

const maxKeyFile = 8 << 10

// secretsFolder is where container runtimes mount secrets, below /var/run by its older name.
const secretsFolder = "/run/secrets"

// FileKey is the key that a file holds: one line of at most 8 KiB, in a regular
// file that belongs to the worker's user or root and that nobody else may read;
// below /run/secrets, where Docker and Kubernetes mount secrets for all of a
// container to read, it is enough that nobody else may write to it.
// The file is checked and read anew each time, so one that was rotated counts
// at once; to rotate, write another file and rename it over the old one, so
// that no half of a key is ever read. Errors name the file, never its content.
func FileKey(path string) Key {
	return func() (string, error) {
		key, err := readKey(path)
		if err != nil {
			return "", domain.CodedErrorf(domain.Denied, domain.CodeAuth, "key file %s: %s", path, err)
		}
		return key, nil
	}
}

func readKey(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", unreadable(err)
	}
	mounted := strings.HasPrefix(path, secretsFolder+"/") || strings.HasPrefix(path, "/var"+secretsFolder+"/")
	check := func(info fs.FileInfo, err error) error {
		switch {
		case err != nil:
			return unreadable(err)
		case !info.Mode().IsRegular():
			return errors.New("is not a regular file; name the file that holds the key")
		}
		return checkOwner(info, mounted)
	}
	// Asked before it is opened too, since opening a pipe may wait for ever.
	if err := check(os.Stat(path)); err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", unreadable(err)
	}
	defer file.Close()
	if err := check(file.Stat()); err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxKeyFile+1))
	if err != nil {
		return "", unreadable(err)
	}
	if len(data) > maxKeyFile {
		return "", fmt.Errorf("has more than %d bytes; a key is one line", maxKeyFile)
	}
	key := strings.TrimSpace(string(data))
	switch {
	case key == "":
		return "", errors.New("is empty; write the key into it")
	case strings.ContainsAny(key, "\r\n"):
		return "", errors.New("has more than one line; leave only the key")
	case !printable.MatchString(key):
		return "", errors.New("has characters that no key has; write the key again without quotes")
	}
	return key, nil
}

// unreadable leaves the path out, which is named already.
func unreadable(err error) error {
	return fmt.Errorf("cannot be read: %w", cmp.Or(errors.Unwrap(err), err))
}
