package host

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/activities/inference/wire"
)

// spellings are texts that hold a secret, by how it stands there.
func spellings(secret string) map[string]string {
	quote := func(text string) string {
		data, _ := json.Marshal(text)
		return string(data)
	}
	all := map[string]string{
		"as it is": "key " + secret + ".", "twice": secret + secret,
		"in a query": "https://host/?key=" + url.QueryEscape(secret), "in a path": "/v1/" + url.PathEscape(secret) + "/x",
		"in JSON": quote("it is " + secret), "in JSON in JSON": quote(quote(secret)),
		"a query in JSON": quote(url.QueryEscape(secret)),
		"in hex":          "x" + hex.EncodeToString([]byte(secret)), "in capital hex": strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	for n := range 4 {
		around := []byte(strings.Repeat("u", n) + secret + strings.Repeat(":", n))
		all[fmt.Sprintf("in base64, %d before", n)] = "Basic " + base64.StdEncoding.EncodeToString(around)
		all[fmt.Sprintf("in base64 of URLs, %d before", n)] = base64.RawURLEncoding.EncodeToString(around)
	}
	return all
}

func TestSecretsInAllForms(t *testing.T) {
	t.Parallel()
	const secret = `sk-0123456789/abc+def&"ghi"<>=`
	s := &secrets{}
	s.add(secret)
	for name, text := range spellings(secret) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, s.hide(text), s.Hide(text))
			shown := s.Hide(text)
			require.Contains(t, shown, hidden)
			// What is left is what stood around it, and the few bits that a
			// neighbour decides too.
			require.LessOrEqual(t, len(shown), len(text)-len(secret)+len(hidden))
			for _, form := range wire.SecretForms(secret) {
				require.NotContains(t, shown, form)
			}
			require.NotContains(t, shown, "0123456789")
		})
	}
	require.Equal(t, "sk-0123456789", s.Hide("sk-0123456789"), "half of one is none")
}

// TestSecretsThatAreWords: what stands in place of a key is hidden in logs, and
// left in what is said.
func TestSecretsThatAreWords(t *testing.T) {
	t.Parallel()
	s := &secrets{}
	for _, word := range []string{"none", "ollama", "not-needed", "§"} {
		s.add(word)
		require.Equal(t, word+" c2a7 is meant", s.Hide(word+" c2a7 is meant"))
		require.Equal(t, hidden+" c2a7 is meant", s.hide(word+" c2a7 is meant"))
		require.Zero(t, s.Begun(word[:1]))
	}
	s.add("sk-0123456789abc")
	require.Equal(t, "none [hidden]", s.Hide("none sk-0123456789abc"))
}

// TestSecretsInPieces: however a text is cut up, passing on what cannot be the
// beginning of a secret, and hiding what is one, is the same as hiding it whole.
func TestSecretsInPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &secrets{}
		keys := []string{"sk-sk-sk-0123456789", "aaaaaaaaaaaaaaaaaaaab", "sk-proj-&/+=0123456"}
		for _, key := range keys {
			s.add(key)
		}
		pieces := rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(keys), rapid.SampledFrom([]string{"sk-", "a", "aaaa", "s", "é", "\\u0026"}), rapid.String())).Draw(t, "pieces")
		whole := strings.Join(pieces, "")
		var shown, held string
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "length")
			held = s.Hide(held + rest[:n])
			begun := s.Begun(held)
			shown, held, rest = shown+held[:len(held)-begun], held[len(held)-begun:], rest[n:]
		}
		require.Equal(t, s.Hide(whole), shown+held)
		for _, key := range keys {
			require.NotContains(t, shown, key)
			require.False(t, strings.HasSuffix(shown, key[:len(key)-1]), "nearly all of it")
		}
	})
}

// TestSecretsAreBounded, and those of the configuration stay however often the key in a file is rotated.
func TestSecretsAreBounded(t *testing.T) {
	t.Parallel()
	s := &secrets{}
	s.add("")
	require.Equal(t, "text", s.hide("text"))
	s.fix("sk-of-the-configuration")
	for n := range 2 * maxSecrets {
		s.add(fmt.Sprintf("key-%012d", n))
	}
	require.Len(t, s.latest, maxSecrets)
	require.Equal(t, hidden+" "+hidden, s.Hide(fmt.Sprintf("key-%012d sk-of-the-configuration", 2*maxSecrets-1)))
	(*secrets)(nil).add("text")
}
