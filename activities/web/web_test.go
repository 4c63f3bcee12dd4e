package web

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// fields are the arguments of a call.
type fields map[string]any

// call calls a tool as the worker does.
func call(ctx context.Context, t *testing.T, c *Client, name string, args fields) (string, error) {
	t.Helper()
	text, err := json.Marshal(args)
	require.NoError(t, err)
	for _, tl := range c.Tools() {
		if tl.Spec().Name == name {
			result, err := tl.Call(ctx, string(text))
			return result.Content, err
		}
	}
	require.Fail(t, "no such tool", name)
	return "", nil
}

// get reads a URL.
func get(t *testing.T, c *Client, url string) (string, error) {
	t.Helper()
	return call(t.Context(), t, c, "http_get", fields{"url": url})
}

// answered is what is read of a URL that can be read.
func answered(t *testing.T, c *Client, url string) string {
	t.Helper()
	text, err := get(t, c, url)
	require.NoError(t, err)
	return text
}

// post sends a body to a URL.
func post(t *testing.T, c *Client, url, body string) (string, error) {
	t.Helper()
	return call(t.Context(), t, c, "http_post", fields{"url": url, "body": body})
}

func client(t *testing.T, allow ...string) *Client {
	t.Helper()
	c, err := New(Config{Allow: allow})
	require.NoError(t, err)
	c.now = func() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }
	return c
}

// A listener accepts on every address of this machine. Only first may be reached.
type listener struct {
	net.Listener
	port    string
	escapes atomic.Int64
	allowed atomic.Int64
	mu      sync.Mutex
	seen    []string
}

// first is the one address that clients of these tests may reach: loopback, but not
// the one that everything else is meant to end at.
const first = "127.0.0.2"

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if host, _, _ := net.SplitHostPort(conn.LocalAddr().String()); strings.TrimPrefix(host, "::ffff:") == first {
		l.allowed.Add(1)
	} else {
		l.escapes.Add(1)
		l.mu.Lock()
		l.seen = append(l.seen, conn.LocalAddr().String())
		l.mu.Unlock()
	}
	return conn, nil
}

// listen serves on all addresses. /to redirects to u with a status.
func listen(t *testing.T) *listener {
	t.Helper()
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0")
	require.NoError(t, err)
	l := &listener{Listener: inner}
	_, l.port, err = net.SplitHostPort(inner.Addr().String())
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.FormValue("status"))
		w.Header()["Location"] = []string{r.FormValue("u")}
		w.WriteHeader(status)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("the inside")) })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return l
}

func (l *listener) redirect(status int, to string) string {
	return "http://" + first + ":" + l.port + "/to?status=" + strconv.Itoa(status) + "&u=" + url.QueryEscape(to)
}

// serve is a server that clients may reach, at its URL.
func serve(t *testing.T, handle http.HandlerFunc) (*Client, string) {
	t.Helper()
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", first+":0")
	require.NoError(t, err)
	server := &http.Server{Handler: handle, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(inner) }()
	t.Cleanup(func() { _ = server.Close() })
	return client(t, first), "http://" + inner.Addr().String()
}

func says(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{kind}
		_, _ = w.Write([]byte(body))
	}
}

func TestToolsAreWellMade(t *testing.T) {
	t.Parallel()
	effects := map[string]domain.Effect{}
	for _, tl := range client(t).Tools() {
		require.NoError(t, tl.Check())
		effects[tl.Spec().Name] = tl.Spec().Effect
	}
	require.Equal(t, map[string]domain.Effect{"http_get": domain.ReadOnly, "http_post": domain.AtMostOnce}, effects)
}
