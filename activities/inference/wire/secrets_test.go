package wire_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
)

const secret = `sk-1"<&+/é 234567`

// TestSecretsAreHiddenInAllForms: quoted, escaped or encoded with others on the
// way, at any place.
func TestSecretsAreHiddenInAllForms(t *testing.T) {
	t.Parallel()
	once, err := json.Marshal("say " + secret)
	require.NoError(t, err)
	twice, err := json.Marshal(string(once))
	require.NoError(t, err)
	texts := []string{
		"say " + secret, string(once), string(twice), strconv.Quote(`x`) + secret, url.QueryEscape(secret), url.PathEscape(secret),
		hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	hiding := wire.NewHiding("[key]", "other-secret", secret)
	for _, text := range texts {
		require.Contains(t, hiding.Hide(text), "[key]", text)
	}
	for before := range 4 {
		for after := range 4 {
			whole := []byte(strings.Repeat("a", before) + secret + strings.Repeat("z", after))
			for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
				hidden := hiding.Hide(encoding.EncodeToString(whole))
				require.Contains(t, hidden, "[key]")
				// Only what the neighbours decide too is left, two characters a side at most.
				left := strings.Trim(strings.ReplaceAll(hidden, "[key]", ""), "=")
				require.LessOrEqual(t, len(left), (8*(before+after)+5)/6+2, "%d %d", before, after)
			}
		}
	}
	require.Equal(t, "[key]", hiding.Hide("other-secret"))
	require.Equal(t, "plain", hiding.Hide("plain"))
	require.Equal(t, "plain", wire.Hiding{}.Hide("plain"))
}

// TestShortSecretsAreNotLookedForEncoded: what is encoded of them is in any text.
func TestShortSecretsAreNotLookedForEncoded(t *testing.T) {
	t.Parallel()
	require.NotContains(t, wire.SecretForms("1234567"), hex.EncodeToString([]byte("1234567")))
	require.Contains(t, wire.SecretForms("12345678"), hex.EncodeToString([]byte("12345678")))
}

// TestBegunSecrets: what comes in pieces is held back while it may be one.
func TestBegunSecrets(t *testing.T) {
	t.Parallel()
	hiding := wire.NewHiding("[key]", "abcabd")
	for text, want := range map[string]int{"": 0, "x": 0, "xa": 1, "xabcab": 5, "abc": 3, "abcabca": 4, "abcabd": 0, "abd": 0} {
		require.Equal(t, want, hiding.Begun(text), text)
	}
	require.Zero(t, wire.Hiding{}.Begun("a"))
}

// TestRotatedKeysAreHidden: an attempt hides the keys of late, not only its own.
func TestRotatedKeysAreHidden(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "key-number-00")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`key-number-00 key-number-01 key-number-16`))
	})
	asked := -1
	client := newClient(t, wire.Config{BaseURL: server, Key: func() (string, error) {
		asked++
		return "key-number-" + strconv.Itoa(asked/10) + strconv.Itoa(asked%10), nil
	}})
	said := func() string {
		_, err := client.Infer(t.Context(), question(), nil)
		return failure(t, err).Message + " " + failure(t, err).Detail
	}
	require.NotContains(t, said(), "key-number-00")
	for range 15 {
		require.NotContains(t, said(), "key-number-00")
	}
	require.Contains(t, said(), "key-number-00", "the seventeenth")
	require.NotContains(t, said(), "key-number-16")
	require.NotContains(t, said(), "key-number-16")
}
