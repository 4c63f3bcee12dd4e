package providers

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// testBaseURLs: what cannot be a server's URL is refused before anything is
// sent, be it the worker's or a definition's, and never repeated.
func (c Case) testBaseURLs(t *testing.T) {
	t.Helper()
	s := serveBody(t, http.StatusOK, nil, c.Text("hello").whole())
	lax := c.opened(t, wire.Config{BaseURL: s.URL, AllowBaseURLs: []string{"*"}})
	for name, text := range map[string]string{
		"no scheme":         "127.0.0.1:8000",
		"a name alone":      "models.example/canary",
		"another scheme":    "ftp://models.example/canary",
		"a file":            "file:///canary",
		"code":              "javascript:canary",
		"no host":           "https:///v1/canary",
		"half an address":   "http://[::1/canary",
		"a port of letters": "http://models.example:canary/v1",
		"a password":        "https://user:canary@models.example/v1",
		"a user":            "https://canary@models.example/v1",
		"a line end":        "https://models.example/v1\ncanary",
		"a broken escape":   "https://models.example/%zzcanary",
		"words":             "the usual one",
	} {
		_, err := wire.New(c.API, wire.Config{BaseURL: text})
		c.requireBadURL(t, name, err, c.API.BaseURLVariable())
		call := c.call("hello")
		call.Config.BaseURL = text
		c.requireBadURL(t, name, lax.Check(t.Context(), call.Config), "base_url")
		o := Attempt(t.Context(), t, lax, call, nil)
		require.NotNil(t, o.Err, name)
		c.requireBadURL(t, name, o.Err, "base_url")
		require.Zero(t, o.Sent, name)
	}
	require.Empty(t, s.asked())
}

func (c Case) requireBadURL(t *testing.T, name string, err error, field string) {
	t.Helper()
	require.Error(t, err, name)
	failed := domain.AsError(err)
	require.Equal(t, domain.Invalid, failed.Kind, name)
	require.Equal(t, c.API.Name, failed.Source, name)
	require.True(t, strings.HasPrefix(failed.Message, field+": "), "%s: %s", name, failed.Message)
	require.NotContains(t, failed.Error()+failed.Detail, "canary", name)
}

// testOtherServers: a URL that leads to something else.
func (c Case) testOtherServers(t *testing.T) {
	t.Helper()
	page := serveBody(t, http.StatusNotFound, nil, "<html>404 page not found</html>")
	secure := httptest.NewUnstartedServer(page.Config.Handler)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for name, test := range map[string]struct {
		url  string
		kind domain.Kind
		code domain.Code
		sent int
	}{
		"another path":     {url: page.URL + "/nowhere", kind: domain.Invalid, code: domain.CodeModelNotFound, sent: 1},
		"TLS to none":      {url: strings.Replace(page.URL, "http:", "https:", 1), kind: domain.Unavailable},
		"none to TLS":      {url: strings.Replace(secure.URL, "https:", "http:", 1), kind: domain.Invalid, sent: 1},
		"a foreign issuer": {url: secure.URL, kind: domain.Unavailable},
		"no such host":     {url: "http://models.invalid", kind: domain.Unavailable},
		"a port too high":  {url: "http://127.0.0.1:99999", kind: domain.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := c.opened(t, wire.Config{BaseURL: test.url, Key: wire.FixedKey(Key)})
			o := Attempt(t.Context(), t, p, c.call("hello"), nil)
			require.NotNil(t, o.Err)
			require.Equal(t, test.kind, o.Err.Kind, o.Err.Message)
			require.Equal(t, test.code, o.Err.Code, o.Err.Message)
			require.Equal(t, test.sent, o.Sent)
			require.False(t, o.Err.Billed)
			if test.sent == 0 || test.code != "" {
				require.Contains(t, o.Err.Message, "base URL")
			}
		})
	}
}
