package host

import (
	"io"
	"slices"
	"sync"

	"everstep/activities/inference/wire"
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

// hidden stands where a secret was.
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

// A redactor writes on what it is given, without the secrets. A line is written
// whole, so none is split.
type redactor struct {
	out     io.Writer
	secrets *secrets
}

func (r *redactor) Write(line []byte) (int, error) {
	if _, err := io.WriteString(r.out, r.secrets.hide(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}
