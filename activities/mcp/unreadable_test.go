package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

// neighbour is the text of a call that is answered when the next one was.
const neighbour = "neighbour"

// verbatims answers a call with what the call's text says, where ID stands for the request's id, and the neighbour after it.
func verbatims() {
	var waiting json.RawMessage
	asked := func(params json.RawMessage) (text, token string) {
		var call struct {
			Arguments args `json:"arguments"`
			Meta      struct {
				Token json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		}
		_ = json.Unmarshal(params, &call)
		return call.Arguments.Text, string(call.Meta.Token)
	}
	answeringRaw(func(id, method string, params json.RawMessage) string {
		text, token := asked(params)
		switch {
		case method != "tools/call":
			return answerTo(id, usual(method, nil))
		case text == neighbour:
			waiting = json.RawMessage(id)
			return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1}}` + "\n"
		case text == "":
			text = answerTo("ID", hello)
		}
		said := strings.ReplaceAll(text, "ID", id) + "\n"
		if waiting != nil {
			said += answerTo(string(waiting), hello)
			waiting = nil
		}
		return said
	})
}

func answerTo(id, result string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,` + result + "}\n"
}

// answeringRaw answers each request with the lines that reply returns.
func answeringRaw(reply func(id, method string, params json.RawMessage) string) {
	for in := json.NewDecoder(os.Stdin); ; {
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		switch {
		case in.Decode(&request) != nil:
			return
		case len(request.ID) == 0:
		default:
			fmt.Print(reply(string(request.ID), request.Method, request.Params))
		}
	}
}

// saying does the same over HTTP, as bodies or as streams of events. Begun hears of the neighbour, which is answered
// once over is closed.
func saying(t *testing.T, stream bool, begun, over chan struct{}) Server {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Arguments args `json:"arguments"`
			} `json:"params"`
		}
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &request) != nil || len(request.ID) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		said := answerTo("ID", usual(request.Method, func() string { return hello }))
		if text := request.Params.Arguments.Text; text == neighbour {
			close(begun)
			<-over
		} else if text != "" {
			said = text
		}
		said = strings.ReplaceAll(strings.TrimSpace(said), "ID", string(request.ID))
		if stream && request.Method == "tools/call" {
			w.Header().Set("Content-Type", "text/event-stream")
			for line := range strings.Lines(said) {
				_, _ = io.WriteString(w, "event: message\ndata: "+strings.TrimSpace(line)+"\n\n")
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, said)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return Server{Name: "s", URL: web.URL}
}

// TestAnswersThatAreNotAsTheyShouldBe: what can be understood of an answer is shown to the model, and else that call alone
// fails. The connection stays, and so does a call beside it.
func TestAnswersThatAreNotAsTheyShouldBe(t *testing.T) {
	t.Parallel()
	const unread = "MCP server s has answered the call, and its answer cannot be read: "
	result := func(text string) string { return `{"jsonrpc":"2.0","id":ID,"result":` + text + `}` }
	content := func(text string) string { return result(`{"content":` + text + `}`) }
	for name, c := range map[string]struct {
		answer, want, fails string
		// lines means that it is several messages, which no body in one piece can be.
		lines bool
	}{
		"content of another type":    {answer: content(`[{"type":"json","json":{"a":1}}]`), want: "[content of type json, which is not understood]\n" + `{"type":"json","json":{"a":1}}`},
		"beside a text":              {answer: content(`[{"type":"text","text":"hi"},{"type":"json","json":{}}]`), want: "hi\n[content of type json, which is not understood]\n" + `{"type":"json","json":{}}`},
		"a text without a type":      {answer: content(`[{"text":"hi"}]`), want: "hi"},
		"content without a type":     {answer: content(`[{"a":1}]`), want: "[content without a type, which is not understood]\n" + `{"a":1}`},
		"a type that is a number":    {answer: content(`[{"type":7}]`), want: "[content without a type, which is not understood]\n" + `{"type":7}`},
		"texts for content":          {answer: content(`["hi",null,7]`), want: "hi\n7"},
		"a text that is a number":    {answer: content(`[{"type":"text","text":7}]`), want: "7"},
		"a text that is an object":   {answer: content(`[{"type":"text","text":{"a":1}}]`), want: `{"a":1}`},
		"null content":               {answer: content(`null`), want: ""},
		"no content":                 {answer: result(`{}`), want: ""},
		"an answer of another form":  {answer: result(`{"toolResult":{"a":1}}`), want: "[an answer of a form that is not understood]\n" + `{"toolResult":{"a":1}}`},
		"content that is a text":     {answer: content(`"hi"`), want: "hi"},
		"content that is an object":  {answer: content(`{"type":"text","text":"hi"}`), want: "hi"},
		"a resource without a URI":   {answer: content(`[{"type":"resource","resource":{"text":"hi"}}]`), want: "[resource , text]\nhi"},
		"a resource that is a text":  {answer: content(`[{"type":"resource","resource":"hi"}]`), want: "[content of type resource, which is not understood]\n" + `{"type":"resource","resource":"hi"}`},
		"an image that is none":      {answer: content(`[{"type":"image","mimeType":"image/png","data":"!"}]`), want: "[content of type image, which is not understood]\n" + `{"type":"image","mimeType":"image/png","data":"!"}`},
		"a link of another form":     {answer: content(`[{"type":"resource_link","uri":["a"]}]`), want: "[content of type resource_link, which is not understood]\n" + `{"type":"resource_link","uri":["a"]}`},
		"a structure that is a text": {answer: result(`{"content":[],"structuredContent":"hi"}`), want: `"hi"`},
		"a structure of numbers":     {answer: result(`{"content":[{"type":"json"}],"structuredContent":[1,2]}`), want: "[content of type json, which is not understood]\n" + `{"type":"json"}` + "\n[1,2]"},
		"an error in words":          {answer: result(`{"content":[{"type":"text","text":"out of stock"}],"isError":"true"}`), fails: "out of stock"},
		"an error as a number":       {answer: result(`{"content":[{"type":"text","text":"out of stock"}],"isError":1}`), fails: "out of stock"},
		"no error in words":          {answer: result(`{"content":[{"type":"text","text":"hi"}],"isError":"false"}`), want: "hi"},
		"no error as null":           {answer: result(`{"content":[{"type":"text","text":"hi"}],"isError":null}`), want: "hi"},
		"odd metadata":               {answer: result(`{"content":[{"type":"text","text":"hi","_meta":7}],"_meta":[7]}`), want: "hi"},
		"odd annotations":            {answer: content(`[{"type":"text","text":"hi","annotations":"x"}]`), want: "hi"},
		"an odd kind of result":      {answer: result(`{"content":[{"type":"text","text":"hi"}],"resultType":7,"task":7}`), want: "hi"},
		"nested deep":                {answer: content(`[{"type":"text","text":"hi"},{"type":"x","a":` + strings.Repeat("[", 800) + strings.Repeat("]", 800) + `}]`), want: "hi\n[content of type x, which is not understood]\n" + `{"type":"x","a":` + strings.Repeat("[", 800) + strings.Repeat("]", 800) + `}`},
		"nested too deep":            {answer: content(`[{"type":"x","a":` + strings.Repeat("[", 1200) + strings.Repeat("]", 1200) + `}]`), fails: unread + "it is nested more than 900 deep"},
		"questions of another form":  {answer: result(`{"resultType":"input_required","inputRequests":7}`), fails: unread + "it asks for what cannot be read"},
		"a result that is null":      {answer: result(`null`), fails: unread + "it is null and no object"},
		"a result that is a text":    {answer: result(`"hi"`), fails: unread + `it is "hi" and no object`},
		"a result that is a list":    {answer: result(`[{"type":"text","text":"hi"}]`), fails: unread + `it is [{"type":"text","text":"hi"}] and no object`},
		"neither result nor error":   {answer: `{"jsonrpc":"2.0","id":ID}`, fails: unread + "it has neither a result nor an error"},
		"a result and no error":      {answer: `{"jsonrpc":"2.0","id":ID,"error":null,` + hello + `}`, want: "hello"},
		"a result and a zero error":  {answer: `{"jsonrpc":"2.0","id":ID,"error":{"code":0,"message":""},` + hello + `}`, want: "hello"},
		"a result and an error":      {answer: `{"jsonrpc":"2.0","id":ID,"error":{"code":-5,"message":"out of stock"},` + hello + `}`, fails: "MCP server s refuses the call: out of stock (-5)"},
		"an error that is a text":    {answer: `{"jsonrpc":"2.0","id":ID,"error":"out of stock"}`, fails: "MCP server s refuses the call: out of stock (-32603)"},
		"an error of another form":   {answer: `{"jsonrpc":"2.0","id":ID,"error":{"code":"E5","message":{"a":1}}}`, fails: `MCP server s refuses the call: {"code":"E5","message":{"a":1}} (-32603)`},
		"an error with a text code":  {answer: `{"jsonrpc":"2.0","id":ID,"error":{"code":"E5","message":"out of stock"}}`, fails: "MCP server s refuses the call: out of stock (-32603)"},
		"an id that is a text":       {answer: `{"jsonrpc":"2.0","id":"ID",` + hello + `}`, want: "hello"},
		"an id that is a text, odd":  {answer: `{"id":"ID","result":{"content":"hi"}}`, want: "hi"},
		"no version":                 {answer: `{"id":ID,` + hello + `}`, want: "hello"},
		"another version":            {answer: `{"jsonrpc":"1.0","id":ID,` + hello + `}`, want: "hello"},
		"a method that is null":      {answer: `{"jsonrpc":"2.0","method":null,"id":ID,` + hello + `}`, want: "hello"},
		"a batch of one":             {answer: `[{"jsonrpc":"2.0","id":ID,` + hello + `}]`, want: "hello"},
		"logs before it":             {lines: true, want: "hello", answer: "starting\n{\"level\":\"info\"}\n[1]\n" + `{"jsonrpc":"2.0","id":ID,` + hello + `}`},
		"an answer to nothing before it": {lines: true, want: "hello", answer: `{"jsonrpc":"2.0","id":4711,` + hello + "}\n" +
			`{"jsonrpc":"2.0","id":"x","error":"what?"}` + "\n" + `{"jsonrpc":"2.0","id":ID,` + hello + `}`},
		"notices that cannot be read before it": {lines: true, want: "hello", answer: `{"jsonrpc":"2.0","method":"notifications/progress","params":7}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/progress"}` + "\n" + `{"jsonrpc":"2.0","method":7}` + "\n" + `{"jsonrpc":"2.0","id":ID,` + hello + `}`},
		"requests that cannot be read before it": {lines: true, want: "hello", answer: `{"jsonrpc":"2.0","id":"q","method":"roots/list","params":7}` + "\n" +
			`{"jsonrpc":"2.0","id":{},"method":"roots/list"}` + "\n" + `{"jsonrpc":"2.0","id":"r","method":["x"]}` + "\n" + `{"jsonrpc":"2.0","id":ID,` + hello + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, over := range []string{"stdio", "bodies", "events"} {
				if c.lines && over == "bodies" {
					continue
				}
				begun, answered := make(chan struct{}), make(chan struct{})
				s := openServers(t, Options{}, programOf(t, "verbatim"))
				if over != "stdio" {
					s = openServers(t, Options{}, saying(t, over == "events", begun, answered))
				}
				found, err := s.Find(t.Context(), "s__echo")
				require.NoError(t, err)
				before := s.all["s"].live
				beside := make(chan error, 1)
				ctx := t.Context()
				if over == "stdio" {
					ctx = tool.WithProgress(ctx, func(string) { close(begun) })
				}
				go func() {
					result, err := found.Call(ctx, `{"text":"`+neighbour+`"}`)
					if err == nil && result.Content != "hello" {
						err = fmt.Errorf("the neighbour's answer is %q", result.Content)
					}
					beside <- err
				}()
				<-begun
				text, err := call(t, s, "s__echo", args{Text: c.answer})
				close(answered)
				if c.fails == "" {
					require.NoError(t, err, over)
					require.Equal(t, c.want, text, over)
				} else {
					require.EqualError(t, err, c.fails, over)
					require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
					require.False(t, tool.IsOutcomeUnknown(err) || tool.IsNotStarted(err), over)
				}
				require.NoError(t, <-beside, over)
				require.Equal(t, "hello", said(t, s, "s__echo", args{}), over)
				require.Same(t, before, s.all["s"].live, "%s: the connection is the one before", over)
			}
		})
	}
}
