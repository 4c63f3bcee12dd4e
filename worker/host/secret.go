package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"

	"everstep/activities/inference/wire"
	"everstep/activities/shell"
	"everstep/domain"
)

// A Secret never shows in a log, a message or JSON.
type Secret string

// String hides the secret, and says whether there is one.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the secret.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

const hidden = "[hidden]"

// secrets are the texts that the log never shows and no conversation holds. Keys
// in files come to it while the worker runs. It is used by many at once.
type secrets struct {
	mu sync.RWMutex
	// fixed are those of the configuration, latest those that files have held.
	fixed, latest []string
	// all is for the log, said for what others say.
	all, said wire.Hiding
}

// maxSecrets bounds how many are kept of those that files have held.
const maxSecrets = 64

// fix makes a text of the configuration one of them, for good.
func (s *secrets) fix(text string) {
	s.keep(text, func() { s.fixed = append(s.fixed, text) })
}

// add makes a text that a file holds one of them, as fix does.
func (s *secrets) add(text string) {
	s.keep(text, func() {
		s.latest = append(s.latest, text)
		s.latest = s.latest[max(0, len(s.latest)-maxSecrets):]
	})
}

// keep keeps no empty text, and nil keeps none.
func (s *secrets) keep(text string, keep func()) {
	if s == nil || text == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.fixed, text) || slices.Contains(s.latest, text) {
		return
	}
	keep()
	all := slices.Concat(s.fixed, s.latest)
	s.all = wire.NewHiding(hidden, all...)
	s.said = wire.NewHiding(hidden, slices.DeleteFunc(all, func(secret string) bool { return len(secret) < leastSaid })...)
}

// hide takes them out of a text.
func (s *secrets) hide(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all.Hide(text)
}

// leastSaid is the length from which on a secret is hidden in conversations: a
// word such as "ollama", given to servers that need no key, stays in what is said.
const leastSaid = 16

// Hide takes them out of a text that a model, a tool or a hook has said, but for
// those that are too short to be a vendor's key.
func (s *secrets) Hide(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.said.Hide(text)
}

// Begun is how many bytes at the end of a text may be the beginning of what
// Hide takes out.
func (s *secrets) Begun(text string) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.said.Begun(text)
}

// A redactor writes on what it is given, without the secrets, and without what could
// steer a terminal. A line is written whole, so none is split.
type redactor struct {
	out     io.Writer
	secrets *secrets
}

func (r *redactor) Write(line []byte) (int, error) {
	text, end := strings.CutSuffix(string(line), "\n")
	text = visible(r.secrets.hide(text))
	if end {
		text += "\n"
	}
	if _, err := io.WriteString(r.out, text); err != nil {
		return 0, err
	}
	return len(line), nil
}

// visible escapes, as JSON does, what controls a terminal or the order of others.
func visible(text string) string {
	var safe strings.Builder
	for _, r := range text {
		if r != '\t' && unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			fmt.Fprintf(&safe, `\u%04x`, r)
			continue
		}
		safe.WriteRune(r)
	}
	return safe.String()
}

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
		return nil, invalid("%s and %s: both are set; unset one of them", v.KeyVariable(), v.KeyFileVariable())
	case a.Key != "":
		seen.fix(a.Key.Reveal())
		return wire.KeyFrom(v.KeyVariable(), a.Key.Reveal())
	case a.KeyFile != "":
		return a.fileKey(v, seen)
	}
	return nil, nil
}

func (a Access) fileKey(v vendor, seen *secrets) (wire.Key, error) {
	// The path is not repeated where there is no such file: it may be a key
	// that was put into the wrong variable.
	if _, err := os.Stat(a.KeyFile); err != nil {
		return nil, invalid("%s: names no file that can be read: %s; give the path of a file that holds the key", v.KeyFileVariable(), errors.Unwrap(err))
	}
	source := wire.FileKey(a.KeyFile)
	read := func() (string, error) {
		key, err := source()
		seen.add(key)
		return key, err
	}
	if _, err := read(); err != nil {
		return nil, invalid("%s: %s", v.KeyFileVariable(), err)
	}
	return read, nil
}

// outside makes sure that the file tools cannot read the key: what they read
// goes to models and into histories.
func (a Access) outside(dir string, v vendor) error {
	if _, err := os.Stat(a.KeyFile); err != nil {
		return nil // it is told of where it is read
	}
	return outside(v.KeyFileVariable(), a.KeyFile, dir, "read the key")
}

// outside refuses a file, which a variable names, below the folder of the file tools.
func outside(variable, file, dir, harm string) error {
	if !inside(file, dir) {
		return nil
	}
	return invalid("%s: the file is in %s, where file tools would %s; move it, or name another directory with --dir (EVERSTEP_DIR)", variable, dir, harm)
}

// inside reports whether a file is below a folder, or would be; nothing is where there is no folder, nor what has no
// place: whoever opens it says why.
func inside(file, dir string) bool {
	_, err := shell.PlaceOf(file)
	return dir != "" && err == nil && below(file, dir)
}

// invalid is an error about a setting.
func invalid(format string, args ...any) error {
	return domain.Invalidf(format, args...)
}
