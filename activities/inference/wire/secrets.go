package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
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

// leastEncoded is the length from which on a secret that was encoded can be
// told from anything else.
const leastEncoded = 8

// SecretForms are a secret, and what becomes of it where it was quoted once or
// twice on the way, escaped for a URL, or encoded together with other text.
func SecretForms(secret string) []string {
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	for range 2 {
		for _, form := range slices.Clone(forms) {
			forms = append(forms, quoted(form, true), quoted(form, false))
		}
		slices.Sort(forms)
		forms = slices.Compact(forms)
	}
	if len(secret) < leastEncoded {
		return forms
	}
	inHex := hex.EncodeToString([]byte(secret))
	forms = append(forms, inHex, strings.ToUpper(inHex))
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		forms = append(forms, inBase64(encoding, secret)...)
	}
	return forms
}

// inBase64 are the forms that a secret has in base64, one for each place that
// it may begin at: without the characters that its neighbours decide too.
func inBase64(encoding *base64.Encoding, secret string) []string {
	var forms []string
	for before := range 3 {
		encoded := encoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
		first := (before*8 + 5) / 6
		last := (before + len(secret)) * 8 / 6
		forms = append(forms, encoded[first:last])
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
