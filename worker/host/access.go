package host

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// Access says where a vendor's models are, and with which key. The zero value
// is the vendor's own server without a key.
type Access struct {
	// BaseURL is the server's. Empty: the vendor's own.
	BaseURL string
	// Key is sent to that server and nowhere else. What models and tools say is
	// recorded without it, if it has at least 16 characters. Empty: none.
	Key Secret
	// KeyFile is the path of a file that holds the key, in place of Key. The
	// file is read for each attempt, so a key that was rotated counts at once.
	// It must be the worker's user's, or root's, nobody else may read it (below
	// /run/secrets, where containers mount secrets: nobody else may write to it),
	// and it must not be below Config.Dir.
	KeyFile string
}

// key is the source of the key, nil for none. It is an error that names the
// variable where no key of that form can be. A file is read once, to see that
// it can be; what it holds is told to seen each time.
func (a Access) key(v vendor, seen *secrets) (wire.Key, error) {
	switch {
	case a.Key != "" && a.KeyFile != "":
		return nil, domain.Errorf(domain.Invalid, "%s and %s: both are set; unset one of them", v.KeyVariable(), v.KeyFileVariable())
	case a.Key != "":
		seen.fix(a.Key.Reveal())
		key, err := wire.KeyFrom(v.KeyVariable(), a.Key.Reveal())
		return key, invalid(err)
	case a.KeyFile != "":
		return a.fileKey(v, seen)
	}
	return nil, nil
}

func (a Access) fileKey(v vendor, seen *secrets) (wire.Key, error) {
	// The path is not repeated where there is no such file: it may be a key
	// that was put into the wrong variable.
	if _, err := os.Stat(a.KeyFile); err != nil {
		return nil, domain.Errorf(domain.Invalid, "%s: names no file that can be read: %s; give the path of a file that holds the key", v.KeyFileVariable(), cause(err))
	}
	source := wire.FileKey(a.KeyFile)
	read := func() (string, error) {
		key, err := source()
		seen.add(key)
		return key, err
	}
	if _, err := read(); err != nil {
		return nil, domain.Errorf(domain.Invalid, "%s: %s", v.KeyFileVariable(), err)
	}
	return read, nil
}

// outside makes sure that the file tools cannot read the key: what they read
// goes to models and into histories.
func (a Access) outside(dir string, v vendor) error {
	if a.KeyFile == "" || dir == "" {
		return nil
	}
	file, noFile := resolved(a.KeyFile)
	dir, noFolder := resolved(dir)
	below, err := filepath.Rel(dir, file)
	if noFile != nil || noFolder != nil || err != nil || !filepath.IsLocal(below) {
		return nil // whoever opens what is not there says so
	}
	return domain.Errorf(domain.Invalid, "%s: the file is in %s, where file tools would read the key; move it, or name another directory with --dir (EVERSTEP_DIR)", v.KeyFileVariable(), dir)
}

// resolved is where a path leads.
func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// invalid is an error about a setting, of whatever kind it was.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return domain.Errorf(domain.Invalid, "%s", err)
}

// password is that of a proxy, empty where it has none.
func password(proxy Secret) string {
	u, err := url.Parse(proxy.Reveal())
	if err != nil {
		return ""
	}
	text, _ := u.User.Password()
	return text
}

// cause is what an error of the file system comes from, without the path.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
