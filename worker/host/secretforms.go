package host

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// hiding are the forms of secrets. The zero value hides nothing.
type hiding struct {
	forms   []string
	longest int
	replace *strings.Replacer
}

func hidingOf(forms []string) hiding {
	if len(forms) == 0 {
		return hiding{}
	}
	// A text that holds another one is replaced as a whole.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	forms = slices.Compact(forms)
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range forms {
		pairs = append(pairs, form, hidden)
	}
	return hiding{forms: forms, longest: len(forms[0]), replace: strings.NewReplacer(pairs...)}
}

func (h hiding) hide(text string) string {
	if h.replace == nil {
		return text
	}
	return h.replace.Replace(text)
}

// begun is how many bytes at the end of a text are the beginning of a form.
func (h hiding) begun(text string) int {
	for n := min(len(text), h.longest-1); n > 0; n-- {
		end := text[len(text)-n:]
		if slices.ContainsFunc(h.forms, func(form string) bool { return strings.HasPrefix(form, end) }) {
			return n
		}
	}
	return 0
}

// leastEncoded is the length from which on a secret that was encoded can be
// told from anything else.
const leastEncoded = 8

// formsOf are a secret, and what becomes of it where it was quoted once or
// twice on the way, escaped for a URL, or encoded together with other text.
func formsOf(secret string) []string {
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
