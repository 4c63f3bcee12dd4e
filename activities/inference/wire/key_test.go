package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

func TestKeyFrom(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"empty": "", "a line end": "canary\n", "a line end inside": "canary\nx", "a space": "canary x",
		"quotes around a line": "\"canary\r\"", "a control": "canary\x7f", "another script": "canaryé",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wire.KeyFrom("THE_API_KEY", value)
			require.ErrorContains(t, err, "THE_API_KEY")
			require.NotContains(t, err.Error(), "canary")
		})
	}
	_, err := wire.KeyFrom("THE_API_KEY", "!~")
	require.NoError(t, err)
	source, err := wire.KeyFrom("THE_API_KEY", "sk-1")
	require.NoError(t, err)
	key, err := source()
	require.NoError(t, err)
	require.Equal(t, "sk-1", key)
}

// TestKeyOfASource: what a source gives is checked each time, before anything
// is sent.
func TestKeyOfASource(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]wire.Key{
		"two lines": wire.FixedKey("canary\nx"),
		"none":      func() (string, error) { return "canary", errors.New("no key") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, err := wire.New(api(says), wire.Config{Key: source})
			require.NoError(t, err)
			_, err = client.Infer(t.Context(), question(), nil)
			require.Error(t, err)
			require.Equal(t, apiName, domain.AsError(err).Source)
			require.NotContains(t, err.Error(), "canary")
			require.Error(t, client.Check(t.Context(), question().Config))
		})
	}
}

// TestRotatedKeyIsHidden: the key of an attempt is hidden though another is in
// use by the time the answer comes, and so is that other, in all their forms.
func TestRotatedKeyIsHidden(t *testing.T) {
	t.Parallel()
	var client *wire.Client
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = client.Check(context.Background(), question().Config) // asks for the next key
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"bad: `+r.Header.Get("X-Key")+` canary\u003c2 canary<2 canary%3C1","code":"canary<1","param":"canary<2"}}`)
	})
	var asked atomic.Int32
	client = newClient(t, wire.Config{BaseURL: server, Key: func() (string, error) { return fmt.Sprintf("canary<%d", asked.Add(1)), nil }})
	_, err := client.Infer(t.Context(), question(), nil)
	require.EqualValues(t, 2, asked.Load())
	failed := failure(t, err)
	require.NotContains(t, failed.Message+failed.Detail, "canary")
	require.Contains(t, failed.Message, "[key]")
}

// TestKeyAtTheBorder: no part of a key stays where a body is cut for operators.
func TestKeyAtTheBorder(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 500} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<"+strings.Repeat("x", 1015)+"canary-0123456789")
		})
		_, failed := attempt(t, wire.Config{BaseURL: server, Key: wire.FixedKey("canary-0123456789")})
		require.NotContains(t, failed.Detail, "canary")
		require.Contains(t, failed.Detail, "xxx")
	}
}
