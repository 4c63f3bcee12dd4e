package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

func stateful(s *Server) { s.Stateful = true }

// bind opens a session of an agent.
func bind(t *testing.T, s *Servers, agent string) (id string) {
	t.Helper()
	id, err := s.Bind(t.Context(), "s", agent)
	require.NoError(t, err)
	return id
}

// callBound makes a call in a session.
func callBound(t *testing.T, s *Servers, id, agent, name string, a args) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	found, err := s.In(ctx, id, agent, name)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(a)
	require.NoError(t, err)
	result, err := found.Call(ctx, string(text))
	return result.Content, err
}

// server is the process that serves a session.
func serverOf(t *testing.T, s *Servers, id, agent string) int {
	t.Helper()
	text, err := callBound(t, s, id, agent, "s__here", args{})
	require.NoError(t, err)
	return pidOf(t, text)
}

// requireSessionLost wants an error of a call that was not made, because its session is gone.
func requireSessionLost(t *testing.T, err error, why string) {
	t.Helper()
	require.ErrorContains(t, err, why)
	require.True(t, tool.IsSessionLost(err), "%s", err)
	require.False(t, tool.IsOutcomeUnknown(err))
	require.Equal(t, domain.Unavailable, domain.AsError(err).Kind)
}

// TestASessionIsOfOneAgent, who alone can use it, and its process ends with it.
func TestASessionIsOfOneAgent(t *testing.T) {
	t.Parallel()
	s := started(t, "1", stateful)
	found, err := s.Find(t.Context(), "s__here")
	require.NoError(t, err)
	require.True(t, found.Spec().Stateful)
	ann, bob := bind(t, s, "ann"), bind(t, s, "bob")
	first, second := serverOf(t, s, ann, "ann"), serverOf(t, s, bob, "bob")
	require.NotEqual(t, first, second)
	require.Equal(t, first, serverOf(t, s, ann, "ann"))
	_, err = callBound(t, s, ann, "bob", "s__here", args{})
	requireSessionLost(t, err, "its worker does not have it any more")
	s.Unbind(ann, "bob")
	require.Equal(t, first, serverOf(t, s, ann, "ann"), "it is not another's to end")

	again := bind(t, s, "ann")
	requireGone(t, first)
	_, err = callBound(t, s, ann, "ann", "s__here", args{})
	requireSessionLost(t, err, "its worker does not have it any more")
	third := serverOf(t, s, again, "ann")
	s.Unbind(again, "ann")
	requireGone(t, third)
	s.Close()
	requireGone(t, second)
	_, err = s.Bind(t.Context(), "s", "ann")
	require.ErrorContains(t, err, "the worker is stopping")

	s = started(t, "1")
	_, err = s.Bind(t.Context(), "s", "ann")
	require.EqualError(t, err, `this worker has no stateful MCP server "s"`)
	require.True(t, domain.AsError(err).Kind.Retryable(), "another worker may")
}

// TestASessionIsNotMadeAnew where its server has ended: the call is not made, and says so.
func TestASessionIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	s := started(t, "1", stateful)
	id := bind(t, s, "ann")
	pid := serverOf(t, s, id, "ann")
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	requireGone(t, pid)
	require.Eventually(t, func() bool { return s.sessions.find(id, "ann").lostFor() != nil }, patience, time.Millisecond)
	for range 2 {
		_, err := callBound(t, s, id, "ann", "s__here", args{})
		requireSessionLost(t, err, "its program has ended (exit status 137)")
	}
	id = bind(t, s, "ann")
	_, err := callBound(t, s, id, "ann", "s__die", args{Text: t.TempDir() + "/ledger"})
	requireUnknown(t, err)
	require.False(t, tool.IsSessionLost(err), "it was made")
	_, err = callBound(t, s, id, "ann", "s__here", args{})
	requireSessionLost(t, err, "its program has ended (exit status 3)")
}

// TestSessionsAreBounded in number and, without a call, in time; a call under way is use.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	s := openServers(t, Options{most: 2}, programOf(t, "1", stateful))
	first := bind(t, s, "ann")
	bind(t, s, "bob")
	_, err := s.Bind(t.Context(), "s", "carl")
	require.EqualError(t, err, "this worker has as many sessions with stateful MCP servers as it may, 2; "+
		"close agents that have one and need it no more, wait until one has been idle for 30m0s, or start another worker")
	require.Equal(t, domain.Throttled, domain.AsError(err).Kind)
	bind(t, s, "ann") // in the place of the first
	_, err = callBound(t, s, first, "ann", "s__here", args{})
	requireSessionLost(t, err, "its worker does not have it any more")

	s = openServers(t, Options{idle: time.Second}, programOf(t, "1", stateful))
	var id string
	var pid int
	waits := func() error {
		id = bind(t, s, "ann")
		text, err := callBound(t, s, id, "ann", "s__here", args{})
		if err != nil {
			return err
		}
		pid = pidOf(t, text)
		found, err := s.In(t.Context(), id, "ann", "s__wait")
		if err != nil {
			return err
		}
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		_, err = found.Call(ctx, `{"text":"`+t.TempDir()+`/ledger"}`)
		return err
	}
	for err = waits(); tool.IsSessionLost(err); err = waits() { // a slow machine takes so long between two calls
	}
	require.ErrorIs(t, err, context.DeadlineExceeded, "it was not ended while the call ran")
	requireGone(t, pid)
	_, err = callBound(t, s, id, "ann", "s__here", args{})
	requireSessionLost(t, err, "its worker does not have it any more; one that is not used for 1s is ended")
}

// TestASessionInWhichCallsAreUnderWay is not ended for another one of the agent: whoever takes it for lost is wrong.
func TestASessionInWhichCallsAreUnderWay(t *testing.T) {
	t.Parallel()
	s := openServers(t, Options{}, programOf(t, "1", stateful))
	id := bind(t, s, "ann")
	ctx, stop := context.WithCancel(t.Context())
	found, err := s.In(ctx, id, "ann", "s__wait")
	require.NoError(t, err)
	ended, ledger := make(chan error, 1), t.TempDir()+"/ledger"
	go func() {
		_, err := found.Call(ctx, `{"text":"`+ledger+`"}`)
		ended <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(ledger); return err == nil }, patience, time.Millisecond)
	_, err = s.Bind(t.Context(), "s", "ann")
	require.ErrorContains(t, err, "still under way")
	require.Equal(t, domain.Throttled, domain.AsError(err).Kind)
	serverOf(t, s, id, "ann")
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NotEqual(t, id, bind(t, s, "ann"))
}

// TestASessionOverHTTP is one of the protocol's own: one that the server has forgotten is lost, and a server that is not
// there for a while has not forgotten it.
func TestASessionOverHTTP(t *testing.T) {
	t.Parallel()
	handler := func() http.Handler {
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return countingServer() }, nil)
	}
	var served atomic.Value
	var away atomic.Bool
	served.Store(handler())
	current := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { served.Load().(http.Handler).ServeHTTP(w, r) })
	server, _ := intercepted(t, current, func(w http.ResponseWriter, _ *http.Request, _ string) bool {
		gone := away.Load()
		if gone {
			http.Error(w, "away", http.StatusServiceUnavailable)
		}
		return gone
	})
	server.Stateful = true
	s := openServers(t, Options{fresh: time.Nanosecond}, server)
	ann, bob := bind(t, s, "ann"), bind(t, s, "bob")
	counts := func(id, agent, want string) {
		t.Helper()
		text, err := callBound(t, s, id, agent, "s__next", args{})
		require.NoError(t, err)
		require.Equal(t, want, text)
	}
	counts(ann, "ann", "1")
	counts(ann, "ann", "2")
	counts(bob, "bob", "1")
	away.Store(true)
	_, err := callBound(t, s, ann, "ann", "s__next", args{})
	requireNotStarted(t, err)
	require.False(t, tool.IsSessionLost(err))
	away.Store(false)
	counts(ann, "ann", "3")
	served.Store(handler())
	_, err = callBound(t, s, ann, "ann", "s__next", args{})
	requireSessionLost(t, err, "its server has forgotten it, or cannot be reached any more")
	counts(bind(t, s, "ann"), "ann", "1")
}

// countingServer counts the calls of its one session.
func countingServer() *sdk.Server {
	server, n := sdk.NewServer(&sdk.Implementation{Name: "counting", Version: "1"}, nil), 0
	sdk.AddTool(server, &sdk.Tool{Name: "next", Description: "Counts."}, func(context.Context, *sdk.CallToolRequest, args) (*sdk.CallToolResult, any, error) {
		n++
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(n)}}}, nil, nil
	})
	return server
}
