package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// warnings are what servers are warned of.
type warnings struct {
	complaints
	mu    sync.Mutex
	lines []string
}

func (w *warnings) Warn(message string, keyvals ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprint(append([]any{message}, keyvals...)...))
}

// listing serves one page of tools over HTTP, in a version of the protocol.
func listing(t *testing.T, version, page string) Server {
	t.Helper()
	return byHand(t, func(request incoming) string {
		said := usual(request.Method, func() string { return strings.Replace(hello, "{", `{"resultType":"complete",`, 1) })
		switch {
		case request.Method == "initialize":
			said = strings.Replace(said, "2025-06-18", version, 1)
		case request.Method == "server/discover" && version == "2026-07-28":
			said = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
		case request.Method == "tools/list":
			said = `"result":` + page
		}
		return said
	})
}

// byHand serves answers of bodies over HTTP.
func byHand(t *testing.T, reply func(incoming) string) Server {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request := requestOf(body)
		if len(request.ID) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answerTo(string(request.ID), reply(request)))
	}))
	t.Cleanup(web.Close)
	return Server{Name: "s", URL: web.URL}
}

// TestAToolThatCannotBeRead is named and left out, and takes no other with it.
func TestAToolThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const good = `{"name":"echo","description":"Does echo.","inputSchema":{"type":"object"}}`
	deep := `{"name":"deep","inputSchema":` + strings.Repeat(`{"a":`, 950) + "{}" + strings.Repeat("}", 950) + "}"
	for name, c := range map[string]struct{ page, named, problem string }{
		"a name that is none":  {`{"tools":[` + good + `,{"name":7,"inputSchema":{"type":"object"}}]}`, "tool 2", "name"},
		"null":                 {`{"tools":[` + good + `,null]}`, "tool 2", "it is null"},
		"a list to be kept":    {`{"tools":[` + good + `,null],"ttlMs":3600000}`, "tool 2", "it is null"},
		"a number":             {`{"tools":[7,` + good + `]}`, "tool 1", "no object"},
		"one that is too deep": {`{"tools":[` + deep + `,` + good + `]}`, "deep", "nested more than 900 deep"},
		"no way to go on":      {`{"tools":[` + good + `],"nextCursor":7}`, "all that follows", "no text: 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
				log := &warnings{}
				s := openServers(t, Options{Log: log, fresh: 1}, listing(t, version, c.page))
				for range 2 {
					all, err := s.All(t.Context(), "s")
					require.NoError(t, err, version)
					require.Len(t, all, 1)
					require.Equal(t, "s__echo", all[0].Spec().Name)
				}
				require.Equal(t, "hello", said(t, s, "s__echo", args{}), version)
				_, err := s.Find(t.Context(), ToolName("s", c.named))
				require.ErrorContains(t, err, fmt.Sprintf("MCP server s lists tool %q, which no agent has: it cannot be read: ", c.named))
				require.ErrorContains(t, err, c.problem)
				require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
				require.Len(t, log.lines, 1, "it is told once")
				require.Contains(t, log.lines[0], c.named)
				report, err := s.Examine(t.Context(), "s")
				require.NoError(t, err)
				require.Equal(t, version, report.Protocol)
				at := slices.IndexFunc(report.Tools, func(l Listed) bool { return l.Original == c.named })
				require.Contains(t, report.Tools[at].Problem, c.problem)
			}
		})
	}
}

// TestAHeaderThatTheProtocolDoesNotHave costs its tool in the version that has such headers, and nothing before.
func TestAHeaderThatTheProtocolDoesNotHave(t *testing.T) {
	t.Parallel()
	const page = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"number","x-mcp-header":"N"}}}}]}`
	for version, problem := range map[string]string{"2025-11-25": "", "2026-07-28": "it cannot be read: what its schema says of x-mcp-header is not as the protocol has it"} {
		report, err := openServers(t, Options{}, listing(t, version, page)).Examine(t.Context(), "s")
		require.NoError(t, err)
		require.Len(t, report.Tools, 1, version)
		require.Equal(t, problem, report.Tools[0].Problem)
	}
}

// TestAListThatIsNone: the server stays, and so do the calls that are under way.
func TestAListThatIsNone(t *testing.T) {
	t.Parallel()
	for _, page := range []string{`7`, `{"tools":7}`, `[]`, `null`} {
		for _, version := range []string{"2025-06-18", "2026-07-28"} {
			s := openServers(t, Options{}, listing(t, version, page))
			_, err := s.Find(t.Context(), "s__echo")
			if page == `null` {
				require.ErrorContains(t, err, "has no")
				continue
			}
			requireNotStarted(t, err)
			require.ErrorContains(t, err, "MCP server s does not list its tools: it lists what is no list of tools; mend the server, or take it out of the worker's file")
			require.Equal(t, domain.Invalid, domain.AsError(err).Kind, "another try would come to the same")
			require.NotNil(t, s.all["s"].live, "the connection stays")
		}
	}
}

// odd answers pings with a text, and lists its tools in another form from the second time on.
func odd() {
	times := 0
	answering("", func(method string, _ json.RawMessage) string {
		switch method {
		case "ping":
			return `"result":"pong"`
		case "tools/list":
			if times++; times > 1 {
				return `"result":7`
			}
		}
		return usual(method, func() string { return hello })
	})
}

// TestOddAnswersToOtherRequestsBreakNothing: a program that answers is not ended.
func TestOddAnswersToOtherRequestsBreakNothing(t *testing.T) {
	t.Parallel()
	s := openServers(t, Options{fresh: 1}, programOf(t, "odd"))
	_, err := s.Find(t.Context(), "s__echo")
	require.NoError(t, err)
	before := s.all["s"].live
	require.True(t, before.responds(t.Context()))
	_, err = s.Find(t.Context(), "s__echo")
	require.ErrorContains(t, err, "MCP server s does not list its tools: ")
	require.ErrorContains(t, err, "it lists what is no list of tools")
	require.Same(t, before, s.all["s"].live)
}

// TestALongLogOnStandardOutput, as programs write while they work, does not end them.
func TestALongLogOnStandardOutput(t *testing.T) {
	t.Parallel()
	s := started(t, "verbatim")
	log := strings.Repeat("2026-11-26 working\n", 200_000)
	require.Equal(t, "hello", said(t, s, "s__echo", args{Text: log + answerTo("ID", hello)}))
	require.Zero(t, s.all["s"].failures)
}
