package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/worker/examples/internal/stack"
	"everstep/worker/host"
)

func TestMain(m *testing.M) { stack.Main(m) }

// serve serves agents that play a script.
func serve(t *testing.T, script string) (server, string) {
	t.Helper()
	s := server{stack.Start(t, host.Config{}), domain.Definition{Model: stack.Script(t, script)}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return s, web.URL
}

// ask sends a prompt and returns the answer, of which the head has arrived.
func ask(ctx context.Context, t *testing.T, url string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("Tell me a story."))
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { response.Body.Close() })
	require.Equal(t, http.StatusOK, response.StatusCode)
	return response
}

// TestToTheEnd: the caller gets the text, and then the end.
func TestToTheEnd(t *testing.T) {
	t.Parallel()
	_, url := serve(t, "turns: [{text: Once upon a time., delay: 500ms}]")
	body, err := io.ReadAll(ask(t.Context(), t, url).Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "event: AgentExecutionCompleted\n")
	require.Contains(t, string(body), `"status":"completed"`)
}

// TestACallerWhoLeaves: the agent is stopped in the middle of its answer.
func TestACallerWhoLeaves(t *testing.T) {
	t.Parallel()
	s, url := serve(t, "turns: [{text: "+strings.Repeat("once more ", 200)+", delay: 10m}]")
	ctx, leave := context.WithCancel(t.Context())
	response := ask(ctx, t, url)
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "event: text\n", line)
	leave()
	result, err := s.agents.Wait(t.Context(), response.Header.Get("Agent-Id"), 1)
	require.NoError(t, err)
	require.Equal(t, domain.StatusStopped, result.Outcome.Status)
	require.Equal(t, domain.UserRequested, result.Outcome.StopReason)
}
