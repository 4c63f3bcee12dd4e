package whole_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
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

// streamed answers with chunks, then the finish reason, usage and the end.
func streamed(finish string, deltas ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, delta := range deltas {
			_, _ = fmt.Fprintf(w, "data: {\"id\":\"c1\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", delta)
		}
		if finish == "" {
			return
		}
		_, _ = fmt.Fprintf(w, "data: {\"id\":\"c1\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n", finish)
		_, _ = fmt.Fprint(w, "data: {\"id\":\"c1\",\"choices\":[],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":7,\"total_tokens\":37}}\n\ndata: [DONE]\n\n")
	}
}

func refused(status int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if name, value, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(name, value)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}
}

const callsEcho = `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"echo","arguments":"{\"text\":"}}]}`

// TestOpenAIChat runs agents against a server of the chat completions API.
func TestOpenAIChat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		answers  []http.HandlerFunc
		status   domain.ExecutionStatus
		code     domain.Code
		answer   string
		steps    int
		requests int
		tokens   int64 // exact where the provider reported all of it
	}{
		{
			"a call and an answer",
			[]http.HandlerFunc{
				streamed("tool_calls", `{"role":"assistant","content":null}`, callsEcho, `{"tool_calls":[{"index":0,"function":{"arguments":"\"hi\"}"}}]}`),
				streamed("stop", `{"content":"It said "}`, `{"content":"echo."}`),
			},
			domain.StatusCompleted, "", "It said echo.", 2, 2, 74,
		},
		{
			"throttled, then answered",
			[]http.HandlerFunc{refused(429, "retry-after-ms: 20", `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`), streamed("stop", `{"content":"ok"}`)},
			domain.StatusCompleted, "", "ok", 1, 2, 37,
		},
		{
			"cut, then answered; the first is counted",
			[]http.HandlerFunc{streamed("", `{"content":"half an "}`), streamed("stop", `{"content":"whole answer"}`)},
			domain.StatusCompleted, "", "whole answer", 1, 2, 0,
		},
		{"no money", []http.HandlerFunc{refused(429, "", `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`)}, domain.StatusFailed, domain.CodeQuota, "", 1, 1, 0},
		{"wrong key", []http.HandlerFunc{refused(401, "", `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`)}, domain.StatusFailed, domain.CodeAuth, "", 1, 1, 0},
		{"empty, twice", []http.HandlerFunc{streamed("stop", `{"content":""}`), streamed("stop", `{"content":""}`)}, domain.StatusFailed, domain.CodeEmptyResponse, "", 1, 2, 74},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := serveChat(t, test.answers...)
			s := start(t, host.Config{Tools: []tool.Tool{echo()}, Vendors: map[string]host.Access{"openai": {BaseURL: server.URL + "/v1", Key: "sk-canary"}}})
			begun, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: domain.Definition{
				Model: domain.LLMConfig{Provider: "openai-chat", Model: "m-1"}, Tools: []string{"echo"}, SystemPrompt: "Be brief.",
			}})
			require.NoError(t, err)
			result, err := s.agents.Wait(within(t), begun.ID, 0)
			require.NoError(t, err)
			require.Equal(t, test.status, result.Outcome.Status, "%v", result.Error)
			require.Equal(t, test.code, result.Outcome.Code)
			require.Equal(t, test.answer, result.Answer)
			require.Equal(t, test.steps, result.Outcome.Steps)
			require.Len(t, server.requests(), test.requests)
			if test.tokens > 0 {
				require.Equal(t, test.tokens, result.Outcome.Usage.TotalTokens())
			} else if test.status == domain.StatusCompleted {
				require.Greater(t, result.Outcome.Usage.TotalTokens(), int64(37), "the attempt that was cut counts")
				require.True(t, result.Outcome.Usage.Estimated)
			}
			if result.Error != nil {
				require.NotContains(t, result.Error.Error(), "sk-canary")
			}
		})
	}
}
