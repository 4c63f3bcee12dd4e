package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

// inSessions serves the honest server over HTTP with sessions. Before may answer what it likes itself.
func inSessions(t *testing.T, before func(w http.ResponseWriter, r *http.Request, body string) bool) *Servers {
	t.Helper()
	server, _ := intercepted(t, honestly(), func(w http.ResponseWriter, r *http.Request, body string) bool {
		if !strings.Contains(body, "server/discover") {
			return before(w, r, body)
		}
		http.Error(w, "what?", http.StatusBadRequest)
		return true
	})
	return openServers(t, Options{}, server)
}

// breakOff begins a stream that can be resumed, and ends it.
func breakOff(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "id: 1\nretry: 10\ndata: \n\n")
}

// TestAStreamThatCannotBeResumed is of a call that was taken: whatever the request by which it is resumed is
// answered with, nobody knows what the call has done, and it is not made again.
func TestAStreamThatCannotBeResumed(t *testing.T) {
	t.Parallel()
	refusal := `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32602,"message":"no such event"}}`
	for _, c := range []struct {
		status int
		body   string
	}{{400, ""}, {400, refusal}, {401, ""}, {403, ""}, {404, ""}, {404, refusal}, {405, ""}, {429, ""}, {500, ""}, {503, ""}} {
		t.Run(fmt.Sprint(c.status, " ", len(c.body) > 0), func(t *testing.T) {
			t.Parallel()
			var effects atomic.Int32
			s := inSessions(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
				switch {
				case r.Method == http.MethodGet:
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.body)
				case strings.Contains(body, "pay"):
					effects.Add(1)
					breakOff(w)
				default:
					return false
				}
				return true
			})
			_, err := call(t, s, "s__echo", args{Text: "pay"})
			requireUnknown(t, err)
			require.EqualValues(t, 1, effects.Load())
			require.Equal(t, "on", said(t, s, "s__echo", args{Text: "on"}), "and the next call is served")
		})
	}
}

// TestAStreamThatBreaksOffInItsAnswer is resumed behind the last event that came whole.
func TestAStreamThatBreaksOffInItsAnswer(t *testing.T) {
	t.Parallel()
	for _, lead := range []string{"", "id: 2\n"} {
		var id string
		s := inSessions(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
			switch {
			case r.Method == http.MethodGet:
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprintf(w, "data: %s\n", answerTo(id, strings.Replace(hello, "hello", "behind "+r.Header.Get("Last-Event-ID"), 1)))
			case strings.Contains(body, "pay"):
				id = string(requestOf([]byte(body)).ID)
				breakOff(w)
				_, _ = fmt.Fprintf(w, `%sdata: {"jsonrpc":"2.0","id":%s,"result":{"content":[{"te`, lead, id)
			default:
				return false
			}
			return true
		})
		require.Equal(t, "behind 1", said(t, s, "s__echo", args{Text: "pay"}), lead)
	}
}

// TestACallBesideOneThatHasNoSession: one call was taken when another learns that the session is gone. That one alone
// is made again.
func TestACallBesideOneThatHasNoSession(t *testing.T) {
	t.Parallel()
	var effects, others atomic.Int32
	taken := make(chan struct{})
	s := inSessions(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		switch {
		case strings.Contains(body, "pay"):
			if effects.Add(1) > 1 {
				return false
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			close(taken)
			<-r.Context().Done()
		case strings.Contains(body, "other") && others.Add(1) == 1:
			w.WriteHeader(http.StatusNotFound)
		default:
			return false
		}
		return true
	})
	said(t, s, "s__echo", args{})
	paid := make(chan error)
	go func() {
		_, err := call(t, s, "s__echo", args{Text: "pay"})
		paid <- err
	}()
	<-taken
	require.Equal(t, "other", said(t, s, "s__echo", args{Text: "other"}))
	requireUnknown(t, <-paid)
	require.EqualValues(t, 1, effects.Load())
	require.EqualValues(t, 2, others.Load())
}

// TestAServerThatForgotTheSessionIsAskedAnew, as after its restart, whether it says so by its status alone or in its words: the
// call was not carried out, by the protocol.
func TestAServerThatForgotTheSessionIsAskedAnew(t *testing.T) {
	t.Parallel()
	for words, status := range map[string]int{
		"who?": 404, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32001,"message":"Session not found"}}`: 404,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`: 400,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}`:       400,
		`{"jsonrpc":"2.0","error":{"code":-32600,"message":"unknown sessionId"}}`:                                   400,
	} {
		var times atomic.Int32
		s := inSessions(t, func(w http.ResponseWriter, _ *http.Request, body string) bool {
			if !strings.Contains(body, "again") || times.Add(1) > 1 {
				return false
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, words)
			return true
		})
		require.Equal(t, "one", said(t, s, "s__echo", args{Text: "one"}))
		before := s.all["s"].live.session.ID()
		require.Equal(t, "again", said(t, s, "s__echo", args{Text: "again"}))
		require.EqualValues(t, 2, times.Load())
		require.NotEqual(t, before, s.all["s"].live.session.ID())
	}
}

// TestAServerThatTakesNoMoreOfACallThatItHasTaken: it asked for something before, and may have done something.
func TestAServerThatTakesNoMoreOfACallThatItHasTaken(t *testing.T) {
	t.Parallel()
	for asks, notStarted := range map[int32]bool{0: true, 1: false} {
		var rounds atomic.Int32
		server, _ := over(t, func(w http.ResponseWriter, _ *http.Request, body string) bool {
			requests := ""
			if rounds.Add(1) <= asks {
				requests = `,"inputRequests":{"r":{"method":"roots/list","params":{}}}`
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required"%s}}`, requestOf([]byte(body)).ID, requests)
			return true
		})
		_, err := call(t, openServers(t, Options{}, server), "s__echo", args{})
		require.ErrorContains(t, err, "takes no more calls just now")
		require.Equal(t, domain.Throttled, domain.AsError(err).Kind)
		require.Equal(t, notStarted, tool.IsNotStarted(err))
		require.Equal(t, !notStarted, tool.IsOutcomeUnknown(err))
		require.Equal(t, asks+1, rounds.Load())
	}
}

// TestATaskWhoseAnswerBreaksOff is asked about again: what the request by which the answer is resumed is refused
// with says nothing of the task.
func TestATaskWhoseAnswerBreaksOff(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter){
		"tasks/get": breakOff, "tasks/result": breakOff, "tasks/result of a gateway": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: error\ndata: {\"error\":\"timeout\"}\n\n")
		},
	} {
		method, _, _ := strings.Cut(name, " ")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var times atomic.Int32
			s := &tasking{says: []string{fmt.Sprintf(older, "failed")}, result: `"error":{"code":-32602,"message":"no such order"}`}
			server, _ := intercepted(t, s, func(w http.ResponseWriter, r *http.Request, body string) bool {
				switch {
				case r.Method == http.MethodGet:
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32602,"message":"no such event"}}`)
				case strings.Contains(body, method) && times.Add(1) == 1:
					answer(w)
				default:
					return false
				}
				return true
			})
			servers := openServers(t, Options{}, server)
			ask := tool.Call{Handle: json.RawMessage(`{"task":"t-1"}`)}
			_, err := s.of(t, servers, "s__build", ask)
			require.ErrorContains(t, err, "does not say what became of a task")
			require.False(t, tool.IsOutcomeUnknown(err))
			_, err = s.of(t, servers, "s__build", ask)
			require.ErrorContains(t, err, "refuses the call: no such order (-32602)")
		})
	}
}
