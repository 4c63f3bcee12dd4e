package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// pinging begins the answer of a call with so many pings. It returns the id of the call.
func pinging(w http.ResponseWriter, body string, pings int) (id string) {
	request := requestOf([]byte(body))
	w.Header().Set("Content-Type", "text/event-stream")
	for n := range pings {
		_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"ping-%s-%d\",\"method\":\"ping\"}\n\n", request.ID, n)
	}
	_ = http.NewResponseController(w).Flush()
	return string(request.ID)
}

// TestAFloodOfQuestionsOverHTTP, whose answers are not taken, ends its call soon, and costs no more than the answers
// that may be on their way at one time.
func TestAFloodOfQuestionsOverHTTP(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: a flood takes minutes with the race detector")
	}
	var answers atomic.Int32
	s := inSessions(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		switch {
		case strings.Contains(body, "flood"):
			pinging(w, body, 10_000)
			<-r.Context().Done()
		case strings.Contains(body, `"id":"ping-`):
			answers.Add(1)
			<-r.Context().Done()
		default:
			return false
		}
		return true
	})
	_, err := call(t, s, "s__echo", args{Text: "flood"})
	requireUnknown(t, err)
	require.ErrorContains(t, err, "it asks more than 64 things at one time")
	require.EqualValues(t, maxAsked, answers.Load())
	require.Equal(t, "on", said(t, s, "s__echo", args{Text: "on"}))
}

// TestManyCallsMayAskAtOneTime: one question too many of calls that share a connection waits for its turn.
func TestManyCallsMayAskAtOneTime(t *testing.T) {
	t.Parallel()
	const calls = 100
	var mu sync.Mutex
	under := map[string]chan struct{}{}
	asked, held := make(chan struct{}), 0
	s := inSessions(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		wait := func(until chan struct{}) {
			select {
			case <-until:
			case <-r.Context().Done():
			}
		}
		switch {
		case strings.Contains(body, "curious"):
			answered := make(chan struct{})
			id := pinging(w, body, 1)
			mu.Lock()
			under["ping-"+id+"-0"] = answered
			if len(under) == calls {
				close(asked)
			}
			mu.Unlock()
			wait(answered)
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n\n", id, hello)
		case strings.Contains(body, `"id":"ping-`):
			wait(asked)
			var answer struct {
				ID string `json:"id"`
			}
			_ = json.Unmarshal([]byte(body), &answer)
			mu.Lock()
			held++
			close(under[answer.ID])
			mu.Unlock()
			w.WriteHeader(http.StatusAccepted)
		default:
			return false
		}
		return true
	})
	said(t, s, "s__echo", args{})
	var all sync.WaitGroup
	errs := make([]error, calls)
	for n := range calls {
		all.Go(func() { _, errs[n] = call(t, s, "s__echo", args{Text: "curious"}) })
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, calls, held)
}

// TestAnAnswerInManyStreams is bounded as one is.
func TestAnAnswerInManyStreams(t *testing.T) {
	t.Parallel()
	var streams atomic.Int32
	s := inSessions(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		switch {
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "id: %d\nretry: 10\ndata: \n\n", 1+streams.Add(1))
			for range 240 {
				_, _ = io.WriteString(w, ": "+strings.Repeat("x", 1<<16)+"\n\n")
			}
		case strings.Contains(body, "endless"):
			breakOff(w)
		default:
			return false
		}
		return true
	})
	_, err := call(t, s, "s__echo", args{Text: "endless"})
	requireUnknown(t, err)
	require.LessOrEqual(t, streams.Load(), int32(1+maxLine/(240<<16)+1))
	require.Equal(t, "on", said(t, s, "s__echo", args{Text: "on"}))
}

// TestEachRequestOverHTTPSaysItsVersion from the greeting on.
func TestEachRequestOverHTTPSaysItsVersion(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	versions, answered := map[string]string{}, make(chan struct{})
	s := inSessions(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		message := requestOf([]byte(body))
		if r.Method != http.MethodDelete {
			mu.Lock()
			versions[r.Method+" "+message.Method] = r.Header.Get("Mcp-Protocol-Version")
			mu.Unlock()
		}
		switch {
		case strings.Contains(body, `"id":"ping-`):
			w.WriteHeader(http.StatusAccepted)
			close(answered)
		case r.Method == http.MethodGet:
			<-answered
			w.WriteHeader(http.StatusMethodNotAllowed)
		case strings.Contains(body, "break"):
			pinging(w, body, 1)
			breakOff(w)
		default:
			return false
		}
		return true
	})
	_, err := call(t, s, "s__echo", args{Text: "break"})
	requireUnknown(t, err)
	mu.Lock()
	defer mu.Unlock()
	const said = "2025-11-25"
	require.Equal(t, map[string]string{
		"POST initialize": "", "POST notifications/initialized": said, "POST tools/list": said, "POST tools/call": said,
		"POST ": said, "GET ": said,
	}, versions)
}
