package wire

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// secrets are the texts that are never shown: the keys that were in use of
// late, so that an attempt whose key was rotated meanwhile still hides its own.
type secrets struct {
	mu      sync.RWMutex
	latest  []string
	replace *strings.Replacer
}

// maxSecrets bounds how many are kept.
const maxSecrets = 16

func (s *secrets) add(secret string) {
	if secret == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.latest, secret) {
		return
	}
	s.latest = append(s.latest, secret)
	s.latest = s.latest[max(0, len(s.latest)-maxSecrets):]
	var forms []string
	for _, secret := range s.latest {
		forms = append(forms, SecretForms(secret)...)
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, "[key]")
	}
	s.replace = strings.NewReplacer(pairs...)
}

// redact takes the secrets out of a text that comes from elsewhere, in all of
// their forms.
func (s *secrets) redact(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.replace == nil {
		return text
	}
	return s.replace.Replace(text)
}
