package activities_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

// seats are sessions with the server s, of which there is one: "1".
type seats struct {
	box
	asked, ended string
	full         error
	called       func() (tool.Result, error)
}

func (s *seats) Bind(_ context.Context, server, agent string) (string, error) {
	s.asked = server + " for " + agent
	return "1", s.full
}

func (s *seats) In(_ context.Context, id, _, _ string) (tool.Tool, error) {
	if id != "1" {
		return tool.Tool{}, tool.SessionLost(domain.Errorf(domain.Unavailable, "it is not here"))
	}
	return tool.FromSpec(s.spec, func(context.Context, json.RawMessage) (tool.Result, error) { return s.called() }), nil
}

func (s *seats) Unbind(id, agent string) { s.ended = id + " of " + agent }

func seated() (*bench, *seats) {
	spec := remote("Says it again.", anything, domain.AtMostOnce)
	spec.Stateful = true
	s := &seats{box: box{spec: spec}, called: func() (tool.Result, error) { return tool.Result{Content: "made"}, nil }}
	b := benchOf()
	b.config.Toolbox, b.config.Sessions, b.config.OwnQueue = s, s, "q/mcp/1"
	return b, s
}

// TestBind opens a session for whoever asks, and says where it is.
func TestBind(t *testing.T) {
	t.Parallel()
	b, s := seated()
	bind := func() (contract.Bound, error) { return on(t, b, contract.Bind, contract.BindRequest{Server: "s"}) }
	bound, err := bind()
	require.NoError(t, err)
	require.False(t, bound.Since.IsZero())
	require.Equal(t, contract.Bound{Server: "s", ID: "1", TaskQueue: "q/mcp/1", Worker: bound.Worker, Since: bound.Since}, bound)
	require.Equal(t, "s for default-test-workflow-id", s.asked)

	again := func(want string) {
		t.Helper()
		_, err := bind()
		app, _ := failureOf(t, err)
		require.False(t, app.NonRetryable(), "another worker may")
		require.Contains(t, app.Message(), want)
	}
	s.full = domain.Errorf(domain.Throttled, "it is full")
	again("it is full")
	b.config.Sessions = nil
	again(`this worker has no MCP server "s"`)
	close(b.stop)
	again("the worker is stopping")
}

// TestUnbind ends what the agent that asks has.
func TestUnbind(t *testing.T) {
	t.Parallel()
	b, s := seated()
	a, err := activities.New(b.config)
	require.NoError(t, err)
	env := b.environment(t)
	env.RegisterActivity(a.Unbind)
	_, err = env.ExecuteActivity(a.Unbind, contract.UnbindRequest{Bound: contract.Bound{ID: "1"}})
	require.NoError(t, err)
	require.Equal(t, "1 of default-test-workflow-id", s.ended)
}

// TestACallIsMadeInItsSession, and the model is told once where the one before is gone: whatever the call comes to, but
// not where it was not made.
func TestACallIsMadeInItsSession(t *testing.T) {
	t.Parallel()
	b, s := seated()
	call := pinned(s.spec)
	require.Equal(t, "not run: the server of s__echo keeps state for each agent now, which it did not when this agent was given it; an execution that begins now takes it as it is",
		b.reply(t, call).Content)

	call.Bound = &contract.Bound{Server: "s", ID: "1"}
	require.Equal(t, "made", b.reply(t, call).Content)
	notice := "[The session of this agent with MCP server s was lost: it crashed. This call was made in a new one. What earlier calls had set up " +
		"there, such as open pages, logins or values, is gone; set it up again where you need it.]\n\n"
	call.Bound.Lost = "it crashed"
	require.Equal(t, notice+"made", b.reply(t, call).Content)
	s.called = func() (tool.Result, error) {
		return tool.Result{Content: strings.Repeat("x", 2*domain.MaxToolResult)}, nil
	}
	reply := b.reply(t, call)
	require.True(t, strings.HasPrefix(reply.Content, notice))
	require.LessOrEqual(t, len(reply.Content), domain.MaxToolResult)
	s.called = func() (tool.Result, error) { return tool.Result{}, domain.Invalidf("no such page") }
	reply = b.reply(t, call)
	require.Equal(t, notice+"no such page", reply.Content)
	require.Equal(t, "no such page", reply.Error.Message)

	s.called = func() (tool.Result, error) {
		return tool.Result{}, tool.NotStarted(tool.SessionLost(domain.Errorf(domain.Unavailable, "its program has ended")))
	}
	for id, why := range map[string]string{"1": "its program has ended", "2": "it is not here"} {
		call.Bound.ID = id
		reply = b.reply(t, call)
		require.Equal(t, why, reply.SessionLost)
		require.True(t, reply.NotStarted)
		require.Equal(t, "not run: "+contract.SessionGone(why), reply.Content)
		require.Equal(t, domain.CodeNotRun, reply.Error.Code)
	}
	call.Bound.ID, s.called = "1", func() (tool.Result, error) {
		return tool.Result{}, tool.OutcomeUnknown(domain.Errorf(domain.Unavailable, "its program has ended"))
	}
	reply = b.reply(t, call)
	require.Equal(t, domain.CodeOutcomeUnknown, reply.Error.Code)
	require.Empty(t, reply.SessionLost)
}
