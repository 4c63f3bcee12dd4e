package host

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
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

// secrets are the texts that the log never shows. Keys that are read from files
// come to it while the worker runs. It is used by many at once.
type secrets struct {
	mu      sync.RWMutex
	latest  []string
	replace *strings.Replacer
}

// maxSecrets bounds how many are kept, the latest.
const maxSecrets = 64

// add makes a text one of them. The empty one is none, and nil keeps none.
func (s *secrets) add(text string) {
	if s == nil || text == "" || s.has(text) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = append(s.latest, text)
	s.latest = s.latest[max(0, len(s.latest)-maxSecrets):]
	var forms []string
	for _, secret := range s.latest {
		forms = append(forms, quotations(secret)...)
	}
	// A text that holds another one is replaced as a whole.
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range forms {
		pairs = append(pairs, form, hidden)
	}
	s.replace = strings.NewReplacer(pairs...)
}

func (s *secrets) has(text string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Contains(s.latest, text)
}

// hide takes them out of a text.
func (s *secrets) hide(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.replace == nil {
		return text
	}
	return s.replace.Replace(text)
}

// quotations are a text, and the same where it was quoted on the way, once or
// twice.
func quotations(text string) []string {
	forms := []string{text}
	for range 2 {
		for _, form := range forms {
			forms = append(forms, quoted(form, true), quoted(form, false))
		}
	}
	return forms
}

// quoted is a text as it stands inside a JSON string.
func quoted(text string, html bool) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(html)
	if encoder.Encode(text) != nil {
		return text
	}
	inside := strings.TrimSuffix(b.String(), "\n")
	return inside[1 : len(inside)-1]
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
