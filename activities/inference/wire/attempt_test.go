package wire_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

var api = wire.API{Name: "test", DefaultBaseURL: "https://models.example/v1", BaseURLVariable: "THE_URL", KeyVariable: "THE_KEY"}

func everywhere(*url.URL) bool { return true }

func question() inference.Call {
	return inference.Call{Config: domain.LLMConfig{Provider: api.Name, Model: "m"}, Messages: []domain.Message{domain.UserMessage("hello")}}
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func newClient(t *testing.T, config wire.Config) *wire.Client {
	t.Helper()
	client, err := wire.New(api, config)
	require.NoError(t, err)
	return client
}

func failure(t *testing.T, err error) *domain.Error {
	t.Helper()
	failed, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	return failed
}

// attempt makes one attempt and returns its failure, nil where it has none.
func attempt(t *testing.T, config wire.Config, d *decoder) (*domain.Error, *wire.Attempt) {
	t.Helper()
	a, err := newClient(t, config).Begin(t.Context(), question())
	require.NoError(t, err)
	defer a.End()
	d.attempt = a
	response, err := a.Post("say", nil, nil, []byte("{}"))
	if err == nil {
		err = a.Read(response, d)
	}
	if err == nil {
		return nil, a
	}
	return failure(t, err), a
}

// TestOneRequest: whatever an SDK tries, an attempt is one request.
func TestOneRequest(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"answered": 200, "refused": 503} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var count, sent atomic.Int32
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				count.Add(1)
				w.WriteHeader(status)
			})
			call := question()
			call.Sent = func() { sent.Add(1) }
			a, err := newClient(t, wire.Config{BaseURL: server}).Begin(t.Context(), call)
			require.NoError(t, err)
			defer a.End()
			_, first := a.Post("say", nil, nil, nil)
			_, again := a.Post("say", nil, nil, nil)
			failed := failure(t, again)
			if status == 200 {
				require.NoError(t, first)
				require.Equal(t, domain.Internal, failed.Kind)
				require.True(t, failed.Billed)
			} else {
				require.Equal(t, first, again)
			}
			require.EqualValues(t, 1, count.Load())
			require.EqualValues(t, 1, sent.Load())
		})
	}
}

func TestPost(t *testing.T) {
	t.Parallel()
	var got *http.Request
	server := serve(t, func(w http.ResponseWriter, r *http.Request) { got = r.Clone(r.Context()) })
	a, err := newClient(t, wire.Config{BaseURL: server + "/v1?api-version=1"}).Begin(t.Context(), question())
	require.NoError(t, err)
	defer a.End()
	_, err = a.Post("models/a%2Fb:say", url.Values{"alt": {"sse"}}, http.Header{"x-key": {"k"}}, []byte("{}"))
	require.NoError(t, err)
	require.Equal(t, "/v1/models/a%2Fb:say?alt=sse&api-version=1", got.URL.String())
	require.Equal(t, "k", got.Header.Get("X-Key"))
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
}

func TestPostStaysBelowTheBaseURL(t *testing.T) {
	t.Parallel()
	a, err := newClient(t, wire.Config{BaseURL: "http://127.0.0.1:1/v1"}).Begin(t.Context(), question())
	require.NoError(t, err)
	defer a.End()
	_, err = a.Post("models/../admin", nil, nil, nil)
	require.Equal(t, domain.Invalid, failure(t, err).Kind)
}

// TestNoConnection: a server that never ends its handshake has got nothing.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	failed, _ := attempt(t, wire.Config{BaseURL: "https://" + listener.Addr().String(), Timeouts: wire.Timeouts{Connect: 20 * time.Millisecond}}, &decoder{})
	require.Equal(t, domain.CodeTimeout, failed.Code)
	require.Equal(t, domain.Unavailable, failed.Kind)
	require.False(t, failed.Billed)
	require.Contains(t, failed.Message, "no connection in 20ms")
}

// TestProxy: requests go through a proxy where one is configured, and through
// none that the environment names.
func TestProxy(t *testing.T) {
	var through atomic.Pointer[string]
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		target := r.URL.String()
		through.Store(&target)
		_, _ = io.WriteString(w, `{"text":"hello"}`)
	})
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("http_proxy", proxy)
	config := wire.Config{BaseURL: "http://192.0.2.1/v1", Timeouts: wire.Timeouts{Connect: 100 * time.Millisecond}}
	failed, _ := attempt(t, config, &decoder{})
	require.NotNil(t, failed)
	require.False(t, failed.Billed)
	require.Nil(t, through.Load())
	config.Proxy = proxy
	failed, _ = attempt(t, config, &decoder{})
	require.Nil(t, failed)
	require.Equal(t, "http://192.0.2.1/v1/say", *through.Load())
}

func TestProxyIsChecked(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"host:3128", "ftp://host", "http://user:canary@", "://canary"} {
		_, err := wire.New(api, wire.Config{Proxy: text})
		require.ErrorContains(t, err, "proxy")
		require.NotContains(t, err.Error(), "canary")
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header     http.Header
		body, want string
	}{
		"a header":           {header: http.Header{"X-Request-Id": {"req-1"}}, body: `{}`, want: "req-1"},
		"the second header":  {header: http.Header{"Request-Id": {"req-2"}}, body: `{}`, want: "req-2"},
		"in the body":        {body: `{"type":"error","error":{"message":"no"},"request_id":"req-3"}`, want: "req-3"},
		"the header is best": {header: http.Header{"Request-Id": {"req-4"}}, body: `{"error":{},"request_id":"req-5"}`, want: "req-4"},
		"no id":              {header: http.Header{"X-Request-Id": {strings.Repeat("x", 1000)}}, body: `{"request_id":"two words"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				for key, values := range test.header {
					w.Header()[key] = values
				}
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(w, test.body)
			})
			failed, a := attempt(t, wire.Config{BaseURL: server}, &decoder{})
			require.Equal(t, test.want, a.RequestID())
			if test.want != "" {
				require.Contains(t, failed.Detail, "request "+test.want+": ")
			}
		})
	}
}
