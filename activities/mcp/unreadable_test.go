package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
	answeringRaw(func(id, method string, params json.RawMessage) string {
		text, token := textAndToken(params)
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

// textAndToken are the argument of a call and the token of its progress.
func textAndToken(params json.RawMessage) (text, token string) {
	var call struct {
		Arguments args `json:"arguments"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(params, &call)
	return call.Arguments.Text, string(call.Meta.Token)
}

func answerTo(id, result string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,` + result + "}\n"
}

// answeringRaw answers each request with the lines that reply returns.
func answeringRaw(reply func(id, method string, params json.RawMessage) string) {
	for in := json.NewDecoder(os.Stdin); ; {
		var request incoming
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
		body, _ := io.ReadAll(r.Body)
		request := requestOf(body)
		if len(request.ID) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		said := answerTo("ID", usual(request.Method, func() string { return hello }))
		if text, _ := textAndToken(request.Params); text == neighbour {
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
	text, err := os.ReadFile(filepath.Join("testdata", "answers.txt"))
	require.NoError(t, err)
	nested := func(depth int) string {
		return `{"type":"x","a":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + "}"
	}
	cases := strings.Split(strings.NewReplacer("TOO_DEEP", nested(1200), "DEEP", nested(800)).Replace(string(text)), "\n\n")
	for _, lines := range cases[1:] {
		name, lines, _ := strings.Cut(strings.TrimSpace(lines), "\n")
		c := map[string][]string{"answer": nil, "told": nil, "fails": nil}
		for line := range strings.SplitSeq(lines, "\n") {
			part, text, _ := strings.Cut(line, " ")
			require.Contains(t, c, part)
			c[part] = append(c[part], text)
		}
		answer, want, fails := strings.Join(c["answer"], "\n"), strings.Join(c["told"], "\n"), strings.Join(c["fails"], "\n")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, over := range []string{"stdio", "bodies", "events"} {
				if len(c["answer"]) > 1 && over == "bodies" {
					continue // no body in one piece can be several messages
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
				text, err := call(t, s, "s__echo", args{Text: answer})
				close(answered)
				if fails == "" {
					require.NoError(t, err, over)
					require.Equal(t, want, text, over)
				} else {
					require.EqualError(t, err, fails, over)
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
