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

// secrets are the keys of late, so that an attempt whose key was rotated hides its own.
type secrets struct {
	mu     sync.RWMutex
	latest []string
	hiding Hiding
}

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
	s.latest = s.latest[max(0, len(s.latest)-16):]
	s.hiding = NewHiding("[key]", s.latest...)
}

// A Hiding takes secrets out of texts, in all of their forms; the zero value none.
type Hiding struct {
	forms   []string
	replace *strings.Replacer
}

// NewHiding puts a word where one of the secrets was.
func NewHiding(word string, secrets ...string) Hiding {
	var forms []string
	for _, secret := range secrets {
		forms = append(forms, SecretForms(secret)...)
	}
	// A text that holds another one is replaced as a whole.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	forms = slices.Compact(forms)
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range forms {
		pairs = append(pairs, form, word)
	}
	return Hiding{forms: forms, replace: strings.NewReplacer(pairs...)}
}

// Hide takes the secrets out of a text.
func (h Hiding) Hide(text string) string {
	if len(h.forms) == 0 {
		return text
	}
	return h.replace.Replace(text)
}

// Begun is how many bytes at the end of a text may be the beginning of a secret.
func (h Hiding) Begun(text string) int {
	if len(h.forms) == 0 {
		return 0
	}
	for n := min(len(text), len(h.forms[0])-1); n > 0; n-- {
		end := text[len(text)-n:]
		if slices.ContainsFunc(h.forms, func(form string) bool { return strings.HasPrefix(form, end) }) {
			return n
		}
	}
	return 0
}

// SecretForms are a secret, and what becomes of it where it was quoted once or
// twice on the way, escaped for a URL, or encoded together with other text.
func SecretForms(secret string) []string {
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	for range 2 {
		for _, form := range forms {
			html, _ := json.Marshal(form)
			for _, quoted := range [][]byte{html, JSON(form)} { // the first as is safe within HTML
				forms = append(forms, string(quoted[1:len(quoted)-1]))
			}
		}
	}
	if len(secret) < 8 { // too short for its encoded form to be recognised
		return forms
	}
	inHex := hex.EncodeToString([]byte(secret))
	forms = append(forms, inHex, strings.ToUpper(inHex))
	// In base64 there is one for each place that it may begin at, without the characters that its neighbours decide too.
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			encoded := encoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
			forms = append(forms, encoded[(before*8+5)/6:(before+len(secret))*8/6])
		}
	}
	return forms
}
