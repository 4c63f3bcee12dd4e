package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

// tasking answers calls with tasks, by hand, in either form.
type tasking struct {
	extended bool
	// says is what it says of a task each time that it is asked, and result what the result is asked.
	says   []string
	result string

	mu    sync.Mutex
	heard []string
	// headers are those of the newest request that repeat what its body says.
	headers string
}

const (
	olderWorking    = `"result":{"taskId":"t-1","status":"working","statusMessage":"half\nof it","ttl":60000,"pollInterval":20}`
	newerWorking    = `"result":{"resultType":"complete","taskId":"t-1","status":"working","ttlMs":null,"pollIntervalMs":20}`
	older           = `"result":{"taskId":"t-1","status":%q,"statusMessage":"because","ttl":null}`
	aResult         = `{"content":[{"type":"text","text":"done after all"}]}`
	noSuchTask      = `"error":{"code":-32602,"message":"no such task"}`
	newerWantsRoots = `"result":{"resultType":"complete","taskId":"t-1","status":"input_required","inputRequests":{"r":{"method":"roots/list","params":{}}}}`
	newerWantsWord  = `"result":{"resultType":"complete","taskId":"t-1","status":"input_required","inputRequests":{"r":{"method":"elicitation/create","params":{"message":"your password?"}}}}`
)

func (s *tasking) reply(method string, params json.RawMessage) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, method+" "+string(params))
	switch method {
	case "server/discover":
		if s.extended {
			return `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
		}
		return `"error":{"code":-32601,"message":"no such method"}`
	case "initialize":
		return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"tasks","version":"1"}}`
	case "tools/list":
		return `"result":{"resultType":"complete","tools":[{"name":"build","description":"Builds.","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},` +
			`{"name":"echo","description":"Echoes.","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		switch {
		case strings.Contains(string(params), `"echo"`):
			return `"result":{"resultType":"complete","content":[{"type":"text","text":"hello"}]}`
		case s.extended && strings.Contains(string(params), `"extensions":{"io.modelcontextprotocol/tasks":{}}`):
			return `"result":{"resultType":"task","taskId":"t-1","status":"working","ttlMs":3600000,"pollIntervalMs":20}`
		case !s.extended && strings.Contains(string(params), `"task":{"ttl":604800000}`):
			return `"result":{"task":{"taskId":"t-1","status":"working","statusMessage":"begun","ttl":60000,"pollInterval":20}}`
		}
		return `"error":{"code":-32601,"message":"must be a task"}`
	case "tasks/get":
		if len(s.says) > 1 {
			defer func() { s.says = s.says[1:] }()
		}
		return s.says[0]
	case "tasks/result":
		return s.result
	case "tasks/cancel", "tasks/update":
		return `"result":{"resultType":"complete"}`
	}
	return `"result":{}`
}

func (s *tasking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	request := requestOf(body)
	if len(request.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	said := s.reply(request.Method, request.Params)
	s.mu.Lock()
	s.headers = r.Header.Get("Mcp-Method") + " " + r.Header.Get("Mcp-Name") + " " + r.Header.Get("X-Customer")
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, request.ID, said)
}

// asked counts the requests of a method.
func (s *tasking) asked(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, heard := range s.heard {
		if strings.HasPrefix(heard, method+" ") {
			n++
		}
	}
	return n
}

// served opens it over HTTP.
func (s *tasking) served(t *testing.T) *Servers {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return openServers(t, Options{Root: "/srv"}, Server{Name: "s", URL: web.URL, Headers: []Variable{{"X-Customer", "${trusted.customer}"}}})
}

// of is a call of a customer's, or asks about one.
func (s *tasking) of(t *testing.T, servers *Servers, name string, call tool.Call) (string, error) {
	t.Helper()
	call.Trusted = domain.Trusted{"customer": json.RawMessage(`"4711"`)}
	return callIn(tool.WithExecution(t.Context(), call), t, servers, name, args{})
}

// TestACallThatIsATask is made once, and asked about by its handle, on another worker too.
func TestACallThatIsATask(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*tasking{
		"older": {says: []string{olderWorking, fmt.Sprintf(older, "completed")}, result: `"result":` + aResult},
		"newer": {extended: true, says: []string{newerWorking, newerWantsRoots, `"result":{"resultType":"complete","taskId":"t-1","status":"completed","result":` + aResult + `}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := s.served(t), s.served(t)
			said, err := s.of(t, first, "s__echo", tool.Call{})
			require.NoError(t, err)
			require.Equal(t, "hello", said)
			_, err = s.of(t, first, "s__build", tool.Call{})
			goesOn, ok := tool.IsElsewhere(err)
			require.True(t, ok, "%v", err)
			require.JSONEq(t, `{"task":"t-1"}`, string(goesOn.Handle))
			require.Equal(t, 20*time.Millisecond, goesOn.After)
			require.Equal(t, map[string]time.Duration{"older": time.Minute, "newer": time.Hour}[name], goesOn.Keeps)
			require.Equal(t, map[string]string{"older": "working: begun", "newer": "working"}[name], goesOn.Status)
			for asked := 0; ok && asked < 5; asked++ {
				said, err = s.of(t, second, "s__build", tool.Call{Handle: goesOn.Handle})
				_, ok = tool.IsElsewhere(err)
			}
			require.NoError(t, err)
			require.Equal(t, "done after all", said)
			require.Equal(t, 2, s.asked("tools/call"))
			if s.extended {
				require.Equal(t, "tasks/get t-1 4711", s.headers)
				require.Equal(t, 1, s.asked("tasks/update"))
				require.Contains(t, strings.Join(s.heard, "\n"), `"inputResponses":{"r":{"roots":[{"`)
			}
		})
	}
}

// TestWhatBecomesOfATask other than its result.
func TestWhatBecomesOfATask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		extended     bool
		says, result string
		takenBack    bool
		// goesOn: it is asked again; unknown: nobody knows what it has done.
		goesOn, unknown bool
		want            string
		cancels         int
	}{
		"forgotten":                  {says: noSuchTask, unknown: true, want: "does not know any more the task"},
		"of a server without":        {says: `"error":{"code":-32601,"message":"no such method"}`, unknown: true, want: "does not know any more the task"},
		"a fault of the server":      {says: `"error":{"code":-32603,"message":"no database"}`, want: "does not say what became of a task"},
		"no task":                    {says: `"result":[]`, want: "says what cannot be read of a task"},
		"cancelled":                  {says: fmt.Sprintf(older, "cancelled"), unknown: true, want: "has cancelled the task: because"},
		"of a new status":            {says: fmt.Sprintf(older, "napping"), goesOn: true, want: "napping: because"},
		"failed":                     {says: fmt.Sprintf(older, "failed"), result: `"error":{"code":-32602,"message":"no such order"}`, want: "refuses the call: no such order (-32602)"},
		"failed with a result":       {says: fmt.Sprintf(older, "failed"), result: `"result":{"isError":true,"content":[{"type":"text","text":"no such order"}]}`, want: "no such order"},
		"its result is gone":         {says: fmt.Sprintf(older, "completed"), result: noSuchTask, unknown: true, want: "does not know any more the task"},
		"its result is none":         {says: fmt.Sprintf(older, "completed"), result: `"result":7`, want: "its answer cannot be read: it is 7 and no object"},
		"failed, newer":              {extended: true, says: `"result":{"taskId":"t-1","status":"failed","error":{"code":-32602,"message":"no such order"}}`, want: "refuses the call: no such order (-32602)"},
		"asks a person, newer":       {extended: true, says: newerWantsWord, unknown: true, want: "asks for an answer of a person (elicitation)", cancels: 1},
		"taken back":                 {says: olderWorking, takenBack: true, goesOn: true, want: "working: half of it", cancels: 1},
		"taken back when it is over": {says: fmt.Sprintf(older, "completed"), result: `"result":` + aResult, takenBack: true, cancels: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &tasking{extended: c.extended, says: []string{c.says}, result: c.result}
			_, err := s.of(t, s.served(t), "s__build", tool.Call{Handle: json.RawMessage(`{"task":"t-1"}`), TakenBack: c.takenBack})
			elsewhere, goesOn := tool.IsElsewhere(err)
			require.Equal(t, c.goesOn, goesOn, "%v", err)
			require.Equal(t, c.unknown, tool.IsOutcomeUnknown(err), "%v", err)
			require.Zero(t, s.asked("tools/call"))
			require.Equal(t, c.cancels, s.asked("tasks/cancel"))
			switch {
			case c.want == "":
				require.NoError(t, err)
			case goesOn:
				require.Equal(t, c.want, elsewhere.Status)
			default:
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

// TestTasksOfHostileServers: what cannot be kept is no handle.
func TestTasksOfHostileServers(t *testing.T) {
	t.Parallel()
	for _, id := range []string{``, strings.Repeat("x", maxTaskID+1)} {
		server := byHand(t, func(request incoming) string {
			if request.Method == "tools/call" {
				return fmt.Sprintf(`"result":{"task":{"taskId":%q,"pollInterval":-1e300,"ttl":1e300}}`, id)
			}
			return (&tasking{}).reply(request.Method, request.Params)
		})
		_, err := call(t, openServers(t, Options{}, server), "s__build", args{})
		requireUnknown(t, err)
		require.ErrorContains(t, err, "under a name that cannot be kept")
	}
	require.Equal(t, tool.MaxElsewhere, milliseconds(1e300))
	require.Zero(t, milliseconds(-1e300))
}

// TestATaskOfAProgram is waited for by its call, which ends with the program.
func TestATaskOfAProgram(t *testing.T) {
	t.Parallel()
	s := started(t, "tasks")
	require.Equal(t, "done after all", said(t, s, "s__build", args{}))
	dies := started(t, "tasks that die")
	_, err := call(t, dies, "s__build", args{})
	requireUnknown(t, err)
	require.ErrorContains(t, err, "its program has ended")
}

// tasksServed is a program with tasks, which may end before they do.
func tasksServed(dies bool) {
	s := &tasking{says: []string{olderWorking, olderWorking, fmt.Sprintf(older, "completed")}, result: `"result":` + aResult}
	answering("", func(method string, params json.RawMessage) string {
		if method == "tasks/get" && dies {
			os.Exit(3)
		}
		return s.reply(method, params)
	})
}
