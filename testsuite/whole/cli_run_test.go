package whole_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	scripts "everstep/activities/scripted"
	"everstep/worker/host"
)

// hello is a script of one turn.
const hello = "turns:\n  - text: Hello.\n    usage: {input_tokens: 10, output_tokens: 5}\n"

// requireInOrder requires that texts stand in a text in this order.
func requireInOrder(t testing.TB, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		require.True(t, found, "no %q, or not in its place, in:\n%s", part, text)
		rest = after
	}
}

// TestCLILooksAfterARun looks at what a run has left, at each moment of the end of its dev server: while that lingers,
// while it stops, and when it is gone.
func TestCLILooksAfterARun(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: a server is begun twenty times, one after the other")
	}
	c := newCLI(t)
	model := c.script("long.yaml", "turns:\n"+strings.Repeat("  - text: Hello.\n", 20))
	looks := [][]string{{"list"}, {"status", "seen"}, {"explain", "seen"}, {"executions", "seen"}, {"result", "seen"}, {"approvals"}, {"schedule", "list"}, {"messages", "seen"}, {"steps", "seen"}, {"export", "--session", "seen"}}
	for i, look := range looks {
		c.do("run", "--id", "seen", "--model", model, "hi")
		time.Sleep(time.Duration(i) * 120 * time.Millisecond) // to meet another moment, not to wait for one
		got := c.do(look...)
		require.Equal(t, 0, got.code, "%v: %s", look, got.err)
		require.NotContains(t, got.err, "error")
	}
	for _, look := range looks {
		c.quiet()
		c.ok(look...)
	}
	c.quiet()
	got := c.do("send", "seen", "and now?", "--wait")
	require.NotContains(t, got.err, "server: none is up", "who follows has what it needs brought up")
	c.quiet()
	require.Equal(t, 5, c.do("send", "seen", "and now?").code, "nothing would carry it on")
	require.Equal(t, 4, c.do("status", "nobody").code)
}

// TestCLISendsToAnotherQueue: what its workers know need not be known to ours.
func TestCLISendsToAnotherQueue(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.dev()
	server, up := c.server()
	require.True(t, up)
	ctx, cancel := context.WithCancel(within(t))
	ended := make(chan error, 1)
	go func() {
		ended <- host.Run(ctx, host.Config{
			Connection: host.Connection{Address: server.Address}, TaskQueue: "elsewhere",
			Providers: map[string]inference.Provider{"mine": scripts.New()},
		})
	}()
	model := c.script("twice.yaml", "turns: [{text: Hello.}, {text: Hello.}]")
	answer := c.ok("run", "--id", "o", "--task-queue", "elsewhere", "--model", model, "hi")
	require.Equal(t, answer, c.ok("send", "o", "--wait", "--model", "mine/"+strings.TrimPrefix(model, "scripted/"), "--price", "input=1,output=1", "--context-window", "5000", "again"))
	require.InDelta(t, 5000, c.json("status", "o")["context_window"], 0)
	cancel()
	require.NoError(t, <-ended)
}
