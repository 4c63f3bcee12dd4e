package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestAServerThatHasForgottenIsListedAgain, as after its restart: a listing that it does not know the session of is not refused for good.
func TestAServerThatHasForgottenIsListedAgain(t *testing.T) {
	t.Parallel()
	var forgets atomic.Bool
	server, _ := intercepted(t, honestly(), func(w http.ResponseWriter, r *http.Request, body string) bool {
		if strings.Contains(body, `"server/discover"`) {
			http.Error(w, "", http.StatusBadRequest)
			return true
		}
		now := strings.Contains(body, `"tools/list"`) && r.Header.Get("Mcp-Session-Id") != "" && forgets.CompareAndSwap(true, false)
		if now {
			http.Error(w, "who?", http.StatusNotFound)
		}
		return now
	})
	s := openServers(t, Options{fresh: time.Nanosecond}, server)
	require.Equal(t, "one", said(t, s, "s__echo", args{Text: "one"}))
	forgets.Store(true)
	_, err := s.Find(t.Context(), "s__echo")
	require.Equal(t, domain.Unavailable, domain.AsError(err).Kind, "%v", err)
	_, err = s.Find(t.Context(), "s__echo")
	require.NoError(t, err)
}

// TestATokenThatIsLateIsWaitedFor is waited for, before the first call and after one.
func TestATokenThatIsLateIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusBadGateway} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t)
			server := guarded(t, i)
			var down atomic.Bool
			inside := i.web.Config.Handler
			i.web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/token" && down.Load() {
					w.WriteHeader(status)
					return
				}
				inside.ServeHTTP(w, r)
			})
			down.Store(true)
			s := openServers(t, Options{Secret: func(string) (string, error) { return "sesame", nil }}, server)
			_, err := s.Find(t.Context(), "s__echo")
			require.Equal(t, domain.Unavailable, domain.AsError(err).Kind, "%v", err)
			down.Store(false)
			require.Eventually(t, func() bool { _, err := s.Find(t.Context(), "s__echo"); return err == nil }, 20*time.Second, 50*time.Millisecond)
			found, err := s.Find(t.Context(), "s__echo")
			require.NoError(t, err)
			i.revoke()
			down.Store(true)
			_, err = found.Call(t.Context(), `{"text":"a"}`)
			require.Equal(t, domain.Unavailable, domain.AsError(err).Kind, "%v", err)
		})
	}
}

// TestAProgramThatItsLikeKeepsOut, which still holds its port, is not given up: it starts a little later.
func TestAProgramThatItsLikeKeepsOut(t *testing.T) {
	t.Parallel()
	s := openServers(t, Options{}, programOf(t, "holds", func(s *Server) { s.Args = append(s.Args, filepath.Join(t.TempDir(), "port")) }))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := callIn(ctx, t, s, "s__echo", args{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Eventually(t, func() bool {
		_, err := s.Find(t.Context(), "s__echo")
		if err != nil {
			require.Equal(t, domain.Unavailable, domain.AsError(err).Kind, "%v", err)
		}
		return err == nil
	}, 30*time.Second, 50*time.Millisecond)
}

// holds answers no call, and nothing while another of its kind has the file.
func holds(file string) {
	own, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bind: address already in use")
		os.Exit(1)
	}
	_ = own.Close()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go func() {
		<-ended
		_ = os.Remove(file)
		os.Exit(0)
	}()
	answering("", func(method string, _ json.RawMessage) string { return usual(method, func() string { select {} }) })
	_ = os.Remove(file)
}

// TestWhatAToolDoesNotNeedCostsNoTool: whatever stands beside the list, and in a tool beside what it is called by.
func TestWhatAToolDoesNotNeedCostsNoTool(t *testing.T) {
	t.Parallel()
	const echo, worst = `"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}`, domain.AtMostOnce
	for page, want := range map[string]struct {
		effect      domain.Effect
		description string
	}{
		`{"tools":[{` + echo + `}],"ttlMs":"soon"}`:                                                              {},
		`{"tools":[{` + echo + `}],"_meta":[]}`:                                                                  {},
		`{"tools":[{` + echo + `}],"cacheScope":7}`:                                                              {},
		`{"tools":[{` + echo + `}],"nextCursor":"the same again"}`:                                               {},
		`{"tools":[{` + echo + `},{` + echo + `}]}`:                                                              {},
		`{"tools":[{` + echo + `,"icons":[{"src":"x","sizes":"48x48"}]}]}`:                                       {},
		`{"tools":[{` + echo + `,"icons":{"src":"x"},"title":7,"_meta":[],"outputSchema":7}]}`:                   {},
		`{"tools":[{` + echo + `,"annotations":{"readOnlyHint":"yes"}}]}`:                                        {effect: worst},
		`{"tools":[{` + echo + `,"annotations":[]}]}`:                                                            {effect: worst},
		`{"tools":[{` + echo + `,"execution":7}]}`:                                                               {},
		`{"tools":[{` + echo + `,"description":["a"]}]}`:                                                         {description: `["a"]`},
		`{"tools":[{"name":"echo","input_schema":{"properties":{"text":{"type":"string"}}}}]}`:                   {},
		`{"tools":[{"name":"echo","parameters":{"properties":{"text":{"type":"string"}}}}]}`:                     {},
		`{"tools":[{"name":"echo","inputSchema":"{\"properties\":{\"text\":{\"type\":\"string\"}}}"}]}`:          {},
		`{"tools":[{"name":"echo","inputSchema":{"properties":{"text":{"type":"string","x-mcp-header":"N"}}}}]}`: {},
	} {
		server := listing(t, "2025-06-18", page)
		server.Effect = domain.ReadOnly
		found, err := openServers(t, Options{}, server).Find(t.Context(), "s__echo")
		require.NoError(t, err, page)
		require.Equal(t, cmp.Or(want.effect, domain.ReadOnly), found.Spec().Effect, page)
		require.Equal(t, want.description, found.Spec().Description, page)
		require.Contains(t, string(found.Spec().Schema), `"text":{"type":"string"`, page)
	}
}

// TestAServerIsTakenAsItIs: what it says of itself, and how it answers, keeps no tool of it from an agent where that can be read.
func TestAServerIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	const named = `"serverInfo":{"name":"x","version":"1"}`
	first := func(members string) string { return `{"jsonrpc":"2.0","id":ID,"result":{` + members + `}}` }
	for name, c := range map[string]struct {
		// request is the one that is answered so, of all where it is empty; status and kind are the answer's.
		request      string
		status       int
		kind, answer string
		// problem is what a report says of that.
		problem string
	}{
		"a version of later":       {request: "initialize", answer: first(`"protocolVersion":"2099-01-01","capabilities":{"tools":{}},` + named), problem: "protocolVersion 2099-01-01"},
		"a version of before":      {request: "initialize", answer: first(`"protocolVersion":"2024-10-07","capabilities":{"tools":{}},` + named), problem: "protocolVersion 2024-10-07"},
		"a version as a number":    {request: "initialize", answer: first(`"protocolVersion":1,"capabilities":{"tools":{}},` + named), problem: "protocolVersion"},
		"nothing but a version":    {request: "initialize", answer: first(`"protocolVersion":"2025-06-18"`)},
		"parts of another form":    {request: "initialize", answer: first(`"protocolVersion":"2025-06-18","capabilities":{"tools":true},"serverInfo":{"name":"x","version":1.0},"instructions":7`), problem: "capabilities, instructions, serverInfo"},
		"a mark of byte order":     {answer: "\ufeffMESSAGE"},
		"an event with a mark":     {kind: "text/event-stream", answer: "\ufeffdata: MESSAGE\n\n"},
		"an event of another name": {kind: "text/event-stream", answer: "event: status\ndata: {\"error\":\"busy\"}\n\nevent: message\ndata: MESSAGE\n\n"},
		"an event of its own":      {kind: "text/event-stream", answer: "event: response\ndata: MESSAGE\n\n"},
		"events that say little":   {kind: "text/event-stream; charset=utf-8", answer: ": ping\r\n\r\nevent: ping\r\ndata: 7\r\n\r\ndata:MESSAGE\r\n\r\ndata: MESSAGE\r\n\r\ndata: [DONE]"},
		"lines":                    {kind: "application/x-ndjson", answer: `{"jsonrpc":"2.0","method":"notifications/message","params":{}}` + "\nMESSAGE\n"},
		"events of another type":   {kind: "application/json", answer: "event: message\ndata: MESSAGE\n\n"},
		"no events":                {kind: "text/event-stream", answer: "MESSAGE\n"},
		"a log in an event":        {kind: "text/event-stream", answer: "{\"level\":\"info\"}\ndata: MESSAGE\n\n"},
		"an event behind its id":   {kind: "text/plain", answer: "id: 1\nevent: message\ndata: MESSAGE\n\n"},
		"accepted, with an answer": {status: http.StatusAccepted, answer: "MESSAGE"},
		"created":                  {status: http.StatusCreated, answer: "MESSAGE"},
		"notices unwelcome":        {request: "notifications/initialized", status: http.StatusMethodNotAllowed},
		"notices unknown":          {request: "notifications/initialized", status: http.StatusBadRequest, answer: `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}`},
		"notices with an answer":   {request: "notifications/initialized", status: http.StatusOK, kind: "text/html", answer: "<p>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				request := requestOf(body)
				answer := strings.TrimSpace(answerTo("ID", usual(request.Method, func() string { return hello })))
				switch w.Header().Set("Content-Type", "application/json"); {
				case request.Method == "server/discover":
					w.WriteHeader(http.StatusBadRequest)
				case request.Method == c.request, c.request == "" && request.ID != nil:
					w.Header().Set("Content-Type", cmp.Or(c.kind, "application/json"))
					w.WriteHeader(cmp.Or(c.status, http.StatusOK))
					answer = strings.ReplaceAll(c.answer, "MESSAGE", answer)
				case request.ID == nil:
					w.WriteHeader(http.StatusAccepted)
				}
				_, _ = io.WriteString(w, strings.ReplaceAll(answer, "ID", string(request.ID)))
			}))
			t.Cleanup(web.Close)
			s := openServers(t, Options{}, Server{Name: "s", URL: web.URL})
			require.Equal(t, "hello", said(t, s, "s__echo", args{}))
			report, err := s.Examine(t.Context(), "s")
			require.NoError(t, err)
			if c.problem == "" {
				require.Empty(t, report.Problems)
				return
			}
			require.Contains(t, report.Problems, "what it says of itself is not understood: "+c.problem)
		})
	}
}

// TestACursorThatHasExpired: the list is begun anew, once at a time.
func TestACursorThatHasExpired(t *testing.T) {
	t.Parallel()
	var expires atomic.Int64
	server := byHand(t, func(request incoming) string {
		var page struct{ Cursor string }
		_ = json.Unmarshal(request.Params, &page)
		switch {
		case request.Method == "tools/list" && page.Cursor == "":
			return `"result":{"tools":[{"name":"first","inputSchema":{}}],"nextCursor":"2"}`
		case request.Method == "tools/list" && expires.Add(-1) >= 0:
			return `"error":{"code":-32602,"message":"Invalid cursor"}`
		}
		return usual(request.Method, func() string { return hello })
	})
	s := openServers(t, Options{fresh: time.Nanosecond}, server)
	expires.Store(1)
	all, err := s.All(t.Context(), "s")
	require.NoError(t, err)
	require.Len(t, all, 2, "no tool is there twice")
	expires.Store(2)
	_, err = s.All(t.Context(), "s")
	require.ErrorContains(t, err, "Invalid cursor")
	require.Equal(t, domain.Unavailable, domain.AsError(err).Kind, "it is asked again later")
	_, err = s.All(t.Context(), "s")
	require.NoError(t, err)
}

// TestWhatIsBesideToolsIsListed in every version of the protocol, for people alone: what is odd of it costs nothing else.
func TestWhatIsBesideToolsIsListed(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		capabilities := `"capabilities":{"tools":{},"resources":{},"prompts":{}}`
		server := byHand(t, func(request incoming) string {
			switch request.Method {
			case "initialize":
				return `"result":{"protocolVersion":"` + version + `",` + capabilities + `}`
			case "server/discover":
				if version == "2026-07-28" {
					return `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],` + capabilities + `}`
				}
			case "resources/list":
				return `"result":{"resultType":"complete","resources":[{"name":"a","uri":"file:///a","mimeType":"text/plain","description":"A","annotations":7,"size":"big"},null]}`
			case "prompts/list":
				return `"result":{"resultType":"complete","prompts":[{"name":7}]}`
			case "tools/list":
				return strings.Replace(oneTool, "{", `{"resultType":"complete",`, 1)
			}
			return usual(request.Method, nil)
		})
		report, err := openServers(t, Options{}, server).Examine(t.Context(), "s")
		require.NoError(t, err, version)
		require.Equal(t, version, report.Protocol)
		require.Equal(t, []Offer{{"a", "file:///a", "text/plain", "A"}}, report.Resources, version)
		require.Empty(t, report.Templates)
		require.Len(t, report.Problems, 1, version)
		require.Contains(t, report.Problems[0], "it does not list its prompts: it lists what is no list of prompts")
	}
}
