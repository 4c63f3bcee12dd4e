package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

// over serves the honest server over HTTP. Before may answer a call of a tool itself.
func over(t *testing.T, before func(w http.ResponseWriter, r *http.Request, body string) bool) (Server, *httptest.Server) {
	t.Helper()
	return intercepted(t, honestly(), func(w http.ResponseWriter, r *http.Request, body string) bool {
		return before != nil && strings.Contains(body, `"method":"tools/call"`) && before(w, r, body)
	})
}

func honestly() http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return honest("1") }, nil)
}

// intercepted is a server over HTTP. Before may answer what it likes itself.
func intercepted(t *testing.T, served http.Handler, before func(w http.ResponseWriter, r *http.Request, body string) bool) (Server, *httptest.Server) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if !before(w, r, string(body)) {
			served.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return Server{Name: "s", URL: web.URL}, web
}

func TestAServerOverHTTP(t *testing.T) {
	t.Parallel()
	server, _ := over(t, nil)
	s := openServers(t, Options{Root: "/srv/work here"}, server)
	require.Equal(t, "hello", said(t, s, "s__echo", args{Text: "hello"}))
	require.Contains(t, said(t, s, "s__roots", args{}), `"uri":"file:///srv/work%20here"`)
	_, err := call(t, s, "s__fail", args{})
	require.EqualError(t, err, "no such order")
	report, err := s.Examine(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, "honest", report.Title)
}

// TestAQueryIsSentAndNotShown: some servers are given a key in it.
func TestAQueryIsSentAndNotShown(t *testing.T) {
	t.Parallel()
	server, web := intercepted(t, honestly(), func(w http.ResponseWriter, r *http.Request, _ string) bool {
		bad := r.URL.RawQuery != "key=sesame&b=%20c"
		if bad {
			w.WriteHeader(http.StatusUnauthorized)
		}
		return bad
	})
	server.URL += "/mcp?key=sesame&b=%20c"
	s := openServers(t, Options{}, server)
	require.Equal(t, "hello", said(t, s, "s__echo", args{Text: "hello"}))
	web.Close()
	s = openServers(t, Options{}, server)
	_, err := s.Find(t.Context(), "s__echo")
	require.ErrorContains(t, err, "MCP server s cannot be reached: Post \""+web.URL+"/mcp\": dial tcp")
	require.NotContains(t, err.Error(), "sesame")
}

func TestHeadersNameSecretsThatAreLookedUpForEachRequest(t *testing.T) {
	t.Parallel()
	var got atomic.Value
	server, _ := over(t, func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		got.Store(r.Header.Get("Authorization"))
		return false
	})
	server.Headers = []Variable{{"authorization", "Bearer ${KEY}"}}
	var key atomic.Value
	key.Store("one")
	s := openServers(t, Options{Secret: func(name string) (string, error) {
		require.Equal(t, "KEY", name)
		return key.Load().(string), nil
	}}, server)
	said(t, s, "s__echo", args{})
	require.Equal(t, "Bearer one", got.Load())
	key.Store("two")
	said(t, s, "s__echo", args{})
	require.Equal(t, "Bearer two", got.Load())
}

func TestWhatAStatusSaysOfACall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		// header is a name and a value.
		header, body string
		kind         domain.Kind
		want         string
	}{
		"throttled":              {status: 429, header: "Retry-After: 7", kind: domain.Throttled, want: "takes no more calls just now"},
		"no key":                 {status: 401, kind: domain.Denied, want: "refuses who asks (401 Unauthorized)"},
		"wrong key":              {status: 403, kind: domain.Denied, want: "refuses who asks (403 Forbidden)"},
		"bad request":            {status: 400, body: "no", kind: domain.Invalid, want: "it answers 400 Bad Request"},
		"an RPC error":           {status: 400, body: `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"what order?"}}`, kind: domain.Invalid, want: "what order?"},
		"throttled, without end": {status: 429, header: "Retry-After: 7", kind: domain.Throttled, want: "takes no more calls just now"},
		"broken, without end":    {status: 500, body: "no", kind: domain.Unavailable, want: "answers 500 Internal Server Error"},
		"broken":                 {status: 500, kind: domain.Unavailable, want: "answers 500 Internal Server Error"},
		"a gateway":              {status: 502, kind: domain.Unavailable, want: "answers 502 Bad Gateway"},
		"elsewhere":              {status: 307, header: "Location: http://127.0.0.1:1/", kind: domain.Invalid, want: "it answers 307 Temporary Redirect"},
		"another type":           {status: 200, header: "Content-Type: text/html", body: "<p>", kind: domain.Unavailable, want: "unsupported content type"},
		"no JSON":                {status: 200, header: "Content-Type: application/json", body: "{", kind: domain.Unavailable, want: "was lost while the call ran"},
		"no answer":              {status: 200, header: "Content-Type: text/event-stream", body: ": nothing\n\n", kind: domain.Unavailable, want: "without response"},
		"an event of an error":   {status: 200, header: "Content-Type: text/event-stream", body: "event: error\ndata: {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"out of stock\"}}\n\n", kind: domain.Invalid, want: "refuses the call: out of stock (-32603)"},
		"an error in a word":     {status: 200, header: "Content-Type: text/event-stream", body: "event: error\ndata: {\"error\":\"overloaded\"}\n\n", kind: domain.Unavailable, want: "was lost while the call ran: overloaded"},
		"a cut event":            {status: 200, header: "Content-Type: text/event-stream", body: `data: {"jsonrpc":"2.0","id":ID,"result":{"content":[{"te`, kind: domain.Unavailable, want: "without response"},
		"a cut body":             {status: 200, header: "Content-Type: application/json", body: `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"te`, kind: domain.Unavailable, want: "was lost while the call ran"},
		"a text like an event":   {status: 200, header: "Content-Type: text/plain", body: "id: 7 is queued\n", kind: domain.Unavailable, want: "unsupported content type"},
		"not its error":          {status: 200, header: "Content-Type: application/json", body: `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"out of stock"}}`, kind: domain.Invalid, want: "refuses the call: out of stock (-32603)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var times atomic.Int32
			server, _ := over(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
				if times.Add(1) > 1 {
					return false
				}
				_, id, _ := strings.Cut(body, `"id":`)
				id, _, _ = strings.Cut(id, ",")
				if name, value, ok := strings.Cut(c.header, ": "); ok {
					w.Header().Set(name, value)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, strings.ReplaceAll(c.body, "ID", id))
				if strings.HasSuffix(name, ", without end") {
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				}
				return true
			})
			s := openServers(t, Options{}, server)
			_, err := call(t, s, "s__echo", args{})
			require.ErrorContains(t, err, c.want)
			own := domain.AsError(err)
			require.Equal(t, c.kind, own.Kind)
			require.Equal(t, c.kind == domain.Denied, own.Code == domain.CodeAuth)
			require.Equal(t, c.kind == domain.Throttled, own.RetryAfter == 7*time.Second)
			require.Equal(t, c.kind == domain.Throttled, tool.IsNotStarted(err))
			require.Equal(t, c.kind == domain.Unavailable, tool.IsOutcomeUnknown(err))
			require.EqualValues(t, 1, times.Load(), "nobody called twice")
			require.Equal(t, "on", said(t, s, "s__echo", args{Text: "on"}), "and the next call is served")
		})
	}
}

// TestAServerThatRefusesItsStartOrItsList: what somebody has to mend is not tried again, and says what that is.
func TestAServerThatRefusesItsStartOrItsList(t *testing.T) {
	t.Parallel()
	const mend = " the worker's file of MCP servers (EVERSTEP_MCP), then try: starter mcp check s"
	for name, c := range map[string]struct {
		status int
		answer string
		kind   domain.Kind
		want   string
	}{
		"no key":          {401, "", domain.Denied, "MCP server s refuses who asks (401 Unauthorized: it wants a token of OAuth); mend what ${SHOP_KEY} stands for where the worker runs, or its entry in" + mend},
		"wrong key":       {403, "no", domain.Denied, "MCP server s refuses who asks (403 Forbidden); mend what ${SHOP_KEY}"},
		"no such page":    {404, "<html>", domain.Invalid, "it answers 404 Not Found; mend its url in" + mend},
		"elsewhere":       {308, "", domain.Invalid, "it answers 308 Permanent Redirect: it is at http://127.0.0.1/mcp/; mend its url"},
		"throttled":       {429, "", domain.Throttled, ": it answers 429 Too Many Requests"},
		"a bad request":   {400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no version"}}`, domain.Invalid, "it answers 400 Bad Request: no version; mend its url"},
		"broken":          {500, "", domain.Unavailable, "Internal Server Error"},
		"broken in words": {500, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"no database"}}`, domain.Unavailable, "it answers 500 Internal Server Error: no database"},
		"a gateway":       {502, "", domain.Unavailable, "Bad Gateway"},
		"no such method":  {200, `"error":{"code":-32601,"message":"no such method"}`, domain.Invalid, "no such method (-32601); mend the server, or take it out of" + mend},
		"other arguments": {200, `"error":{"code":-32602,"message":"what version?"}`, domain.Invalid, "what version? (-32602); mend the server"},
		"cut off":         {200, `"result":{"tools":[{"name":"ec`, domain.Unavailable, "is no message of the protocol"},
		"its own error":   {200, `"error":{"code":-32603,"message":"no database sesame"}`, domain.Unavailable, "no database [hidden]"},
	} {
		for what, methods := range map[string][]string{"cannot be reached": {"server/discover", "initialize"}, "does not list its tools": {"tools/list"}} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				server, _ := intercepted(t, honestly(), func(w http.ResponseWriter, r *http.Request, body string) bool {
					asks := requestOf([]byte(body))
					if !slices.Contains(methods, asks.Method) {
						return false
					}
					w.Header().Set("Retry-After", "7")
					w.Header().Set("Location", "http://127.0.0.1/mcp/?key=value")
					w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="http://127.0.0.1/.well-known/x"`)
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(c.status)
					if c.status != http.StatusOK {
						_, _ = io.WriteString(w, c.answer)
					} else {
						_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, asks.ID, c.answer)
					}
					return true
				})
				server.Headers = []Variable{{"X-Key", "${SHOP_KEY}"}, {"X-Customer", "${trusted.customer}"}}
				s := openServers(t, Options{
					Secret: func(string) (string, error) { return "sesame", nil },
					Redact: func(text string) string { return strings.ReplaceAll(text, "sesame", "[hidden]") },
				}, server)
				_, err := s.Find(t.Context(), "s__echo")
				requireNotStarted(t, err)
				require.ErrorContains(t, err, c.want)
				own := domain.AsError(err)
				require.Equal(t, c.kind, own.Kind)
				require.Equal(t, c.kind == domain.Throttled, own.RetryAfter == 7*time.Second)
				if c.kind != domain.Denied {
					require.ErrorContains(t, err, "MCP server s "+what)
				}
			})
		}
	}
}

func TestAConnectionThatBreaksAfterTheCallWasSent(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter){
		"before the answer": func(http.ResponseWriter) {},
		"in its middle": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: message\ndata: {\"jsonrpc\"")
			_ = http.NewResponseController(w).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var times atomic.Int32
			server, _ := over(t, func(w http.ResponseWriter, _ *http.Request, _ string) bool {
				if times.Add(1) > 1 {
					return false
				}
				answer(w)
				panic(http.ErrAbortHandler)
			})
			s := openServers(t, Options{}, server)
			_, err := call(t, s, "s__echo", args{})
			requireUnknown(t, err)
			require.EqualValues(t, 1, times.Load())
			require.Equal(t, "on", said(t, s, "s__echo", args{Text: "on"}))
		})
	}
}

func TestACallOfAServerThatIsNotThereDidNothing(t *testing.T) {
	t.Parallel()
	server, web := over(t, nil)
	s := openServers(t, Options{}, server)
	require.Equal(t, "hello", said(t, s, "s__echo", args{Text: "hello"}))
	web.CloseClientConnections()
	web.Close()
	found, err := s.Find(t.Context(), "s__echo") // listed a moment ago
	require.NoError(t, err)
	require.Eventually(t, func() bool { // a connection that was kept may take a call with it
		_, err = found.Call(t.Context(), `{}`)
		return tool.IsNotStarted(err)
	}, patience, time.Millisecond)
	require.ErrorContains(t, err, "MCP server s cannot be reached")
}

// TestAnswersWithoutEnd: an answer of 100 MB, and one that trickles for ever, cost
// their call and no more.
func TestAnswersWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]string{"one": "application/json", "a stream": "text/event-stream"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var times atomic.Int32
			server, _ := over(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
				if times.Add(1) > 1 {
					return false
				}
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, "data: ")
				for range 1600 {
					if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
						return true
					}
				}
				return true
			})
			s := openServers(t, Options{}, server)
			_, err := call(t, s, "s__echo", args{})
			requireUnknown(t, err)
			require.Equal(t, "on", said(t, s, "s__echo", args{Text: "on"}))
		})
	}
}

func TestAStopEndsARequestOverHTTP(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan struct{})
	server, _ := over(t, func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		close(begun)
		<-r.Context().Done()
		close(ended)
		return true
	})
	s := openServers(t, Options{}, server)
	ctx, stop := context.WithCancel(t.Context())
	go func() { <-begun; stop() }()
	_, err := callIn(ctx, t, s, "s__echo", args{})
	require.ErrorIs(t, err, context.Canceled)
	<-ended
}

// The proxy of the environment sees nothing of a server.
func TestNoProxyOfTheEnvironmentIsUsed(t *testing.T) {
	seen := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.URL.String() }))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL)
	server, _ := over(t, nil)
	server.URL = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	said(t, openServers(t, Options{}, server), "s__echo", args{})
	require.Empty(t, seen, fmt.Sprint(len(seen)))
}
