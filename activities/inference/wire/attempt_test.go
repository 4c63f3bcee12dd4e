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

// api says {"text":…}, as decoder reads it.
func api(prepare func(*wire.Attempt) (wire.Request, wire.Decoder)) wire.API {
	return wire.API{
		Name: apiName, Server: "https://models.example/v1", Variables: "THE", OwnDomain: "127.0.0.1",
		Reserved: []string{"model"}, Bounds: []string{"most"},
		Prepare: func(a *wire.Attempt, _ inference.Call) (wire.Request, wire.Decoder, error) {
			request, decoder := prepare(a)
			return request, decoder, nil
		},
	}
}

const apiName = "test"

// says is the request of most tests.
func says(a *wire.Attempt) (wire.Request, wire.Decoder) {
	return wire.Request{Path: "say", Header: a.KeyIn("X-Key", ""), Body: []byte("{}")}, &decoder{Attempt: a}
}

func question() inference.Call {
	return inference.Call{Config: domain.LLMConfig{Provider: apiName, Model: "m"}, Messages: []domain.Message{domain.UserMessage("hello")}}
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
	client, err := wire.New(api(says), config)
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
func attempt(t *testing.T, config wire.Config) (inference.Answer, *domain.Error) {
	t.Helper()
	answer, err := newClient(t, config).Infer(t.Context(), question(), nil)
	if err == nil {
		return answer, nil
	}
	return answer, failure(t, err)
}

// ask makes one attempt of an API.
func ask(t *testing.T, config wire.Config, call inference.Call, prepare func(*wire.Attempt) (wire.Request, wire.Decoder)) error {
	t.Helper()
	client, err := wire.New(api(prepare), config)
	require.NoError(t, err)
	_, err = client.Infer(t.Context(), call, nil)
	return err
}

func TestRequest(t *testing.T) {
	t.Parallel()
	var got *http.Request
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(r.Context())
		_, _ = io.WriteString(w, `{"text":"hello"}`)
	})
	require.NoError(t, ask(t, wire.Config{BaseURL: server + "/v1?api-version=1"}, question(), func(a *wire.Attempt) (wire.Request, wire.Decoder) {
		return wire.Request{Path: "models/a%2Fb:say", Query: url.Values{"alt": {"sse"}}, Header: http.Header{"x-key": {"k"}}, Body: []byte("{}")}, &decoder{Attempt: a}
	}))
	require.Equal(t, "/v1/models/a%2Fb:say?alt=sse&api-version=1", got.URL.String())
	require.Equal(t, "k", got.Header.Get("X-Key"))
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
}

func TestRequestStaysBelowTheBaseURL(t *testing.T) {
	t.Parallel()
	err := ask(t, wire.Config{BaseURL: "http://127.0.0.1:1/v1"}, question(), func(a *wire.Attempt) (wire.Request, wire.Decoder) {
		return wire.Request{Path: "models/../admin"}, &decoder{Attempt: a}
	})
	require.Equal(t, domain.Invalid, failure(t, err).Kind)
}

// TestBound: the least bound that anybody says holds.
func TestBound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		call, definition int64
		option           string
		want             int64
	}{
		"none": {option: "null"}, "the call's": {3, 4, "5", 3}, "the definition's": {4, 3, "5", 3}, "the options'": {4, 5, "3", 3}, "the options' alone": {0, 0, "3", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := question()
			call.MaxOutputTokens, call.Config.MaxOutputTokens, call.Config.Options = test.call, test.definition, domain.Metadata{"most": []byte(test.option)}
			bound := int64(-1)
			err := ask(t, wire.Config{BaseURL: "http://127.0.0.1:1"}, call, func(a *wire.Attempt) (wire.Request, wire.Decoder) {
				bound = a.Bound
				return says(a)
			})
			require.Error(t, err)
			require.Equal(t, test.want, bound)
		})
	}
	for _, option := range []string{"0", "-1", "1.5", `"3"`, "[]"} {
		call := question()
		call.Config.Options = domain.Metadata{"most": []byte(option)}
		require.ErrorContains(t, ask(t, wire.Config{}, call, says), "options: most is not a positive whole number")
	}
}

// TestNoConnection: a server that never ends its handshake has got nothing.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	_, failed := attempt(t, wire.Config{BaseURL: "https://" + listener.Addr().String(), Timeouts: wire.Timeouts{Connect: 20 * time.Millisecond}})
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
	_, failed := attempt(t, config)
	require.NotNil(t, failed)
	require.False(t, failed.Billed)
	require.Nil(t, through.Load())
	config.Proxy = proxy
	_, failed = attempt(t, config)
	require.Nil(t, failed)
	require.Equal(t, "http://192.0.2.1/v1/say", *through.Load())
}

func TestProxyIsChecked(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"host:3128", "ftp://host", "http://user:canary@", "://canary"} {
		_, err := wire.New(api(says), wire.Config{Proxy: text})
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
			_, failed := attempt(t, wire.Config{BaseURL: server})
			require.Equal(t, test.want != "", strings.HasPrefix(failed.Detail, "request "), failed.Detail)
			if test.want != "" {
				require.Contains(t, failed.Detail, "request "+test.want+": ")
			}
		})
	}
}
