package whole_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A chatServer plays the chat completions API: the n-th request gets the n-th
// answer.
type chatServer struct {
	*httptest.Server
	mu      sync.Mutex
	answers []http.HandlerFunc
	bodies  []map[string]any
}

func serveChat(t testing.TB, answers ...http.HandlerFunc) *chatServer {
	t.Helper()
	s := &chatServer{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.mu.Lock()
		n := len(s.bodies)
		s.bodies = append(s.bodies, body)
		s.mu.Unlock()
		if n >= len(s.answers) {
			http.Error(w, `{"error":{"message":"no more answers","type":"invalid_request_error"}}`, http.StatusBadRequest)
			return
		}
		s.answers[n](w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *chatServer) requests() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies
}

// chatChunk is a chunk of chat completions. The finish reason is JSON.
func chatChunk(delta, finish string) string {
	return `data: {"id":"c1","model":"m-1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
}

const (
	chatDone  = "data: [DONE]\n\n"
	chatUsage = `data: {"id":"c1","choices":[],"usage":{"prompt_tokens":30,"completion_tokens":7,"total_tokens":37}}` + "\n\n"
	chatStop  = `data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
)

// chunked are chunks of a stream, the last of which may have a finish reason.
func chunked(finish string, deltas ...string) string {
	var b strings.Builder
	for _, delta := range deltas {
		b.WriteString(chatChunk(delta, "null"))
	}
	if finish != "" {
		b.WriteString(chatChunk("{}", fmt.Sprintf("%q", finish)) + chatUsage + chatDone)
	}
	return b.String()
}

// streamed answers with chunks, then the finish reason, usage and the end.
func streamed(finish string, deltas ...string) http.HandlerFunc {
	return streams(chunked(finish, deltas...))
}
