package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// An issuer gives tokens to whoever has the secret, each good for what it is asked
// until another is revoked.
type issuer struct {
	web *httptest.Server

	mu sync.Mutex
	// secrets are those that it was sent, current is the token that is good.
	secrets []string
	current string
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{}
	mux := http.NewServeMux()
	i.web = httptest.NewServer(mux)
	t.Cleanup(i.web.Close)
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.web.URL, "token_endpoint": i.web.URL + "/token", "token_endpoint_auth_methods_supported": []string{"client_secret_basic"},
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		i.mu.Lock()
		defer i.mu.Unlock()
		i.secrets = append(i.secrets, id+"/"+secret)
		w.Header().Set("Content-Type", "application/json")
		if secret != "sesame" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"invalid_client"}`))
			return
		}
		i.current = fmt.Sprint("token-", len(i.secrets))
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": i.current, "token_type": "Bearer", "expires_in": 3600})
	})
	return i
}

func (i *issuer) good(token string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.current != "" && token == "Bearer "+i.current
}

func (i *issuer) revoke() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.current = ""
}

func (i *issuer) sent() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string(nil), i.secrets...)
}

// guarded is the honest server for those who have a token of the issuer's.
func guarded(t *testing.T, i *issuer) Server {
	t.Helper()
	server, web := over(t, nil)
	inside := web.Config.Handler
	web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/.well-known/oauth-protected-resource":
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"resource": web.URL, "authorization_servers": []string{i.web.URL}})
		case !i.good(r.Header.Get("Authorization")):
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+web.URL+`/.well-known/oauth-protected-resource"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			inside.ServeHTTP(w, r)
		}
	})
	server.OAuth = &OAuth{ClientID: "everstep", Secret: Variable{"client_secret", "${SECRET}"}, Issuer: i.web.URL}
	return server
}

func TestATokenIsGotAndGotAgain(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	var hidden sync.Map
	s := openServers(t, Options{
		Secret: func(string) (string, error) { return "sesame", nil }, Hide: func(token string) { hidden.Store(token, true) },
	}, guarded(t, i))
	for range 3 {
		require.Equal(t, "hello", said(t, s, "s__echo", args{Text: "hello"}))
	}
	require.Equal(t, []string{"everstep/sesame"}, i.sent(), "one token for all requests")
	i.revoke()
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			text, err := call(t, s, "s__echo", args{Text: "hello"})
			if err == nil && text != "hello" {
				t.Error(text)
			}
		})
	}
	all.Wait()
	require.Equal(t, "hello", said(t, s, "s__echo", args{Text: "hello"}))
	require.Greater(t, len(i.sent()), 1)
	_, known := hidden.Load("token-1")
	require.True(t, known, "a token is a secret")
}

func TestNoTokenNoCall(t *testing.T) {
	t.Parallel()
	i, other := newIssuer(t), newIssuer(t)
	for name, c := range map[string]struct {
		secret, issuer, want string
		sent                 []string
	}{
		"a secret that is refused":        {"guess", i.web.URL, "invalid_client", []string{"everstep/guess"}},
		"a server that names another one": {"sesame", other.web.URL, "does not match pre-registered credentials issuer", nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(i.sent())
			server := guarded(t, i)
			server.OAuth.Issuer = c.issuer
			s := openServers(t, Options{Secret: func(string) (string, error) { return c.secret, nil }}, server)
			_, err := s.Examine(t.Context(), "s")
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), c.secret)
			require.Equal(t, domain.Denied, domain.AsError(err).Kind)
			require.Subset(t, append(c.sent, ""), append(i.sent()[before:], ""), "nothing else was sent")
			require.Empty(t, other.sent())
		})
	}
}

// TestATokenThatCannotBeAskedFor is asked for again: nobody has to mend anything.
func TestATokenThatCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	server := guarded(t, i)
	i.web.Close()
	s := openServers(t, Options{Secret: func(string) (string, error) { return "sesame", nil }}, server)
	_, err := s.Find(t.Context(), "s__echo")
	require.Equal(t, domain.Unavailable, domain.AsError(err).Kind, "%v", err)
}
