package whole_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCLIChatNeedsATerminal: without one it says what else there is, and of a session that cannot be spoken to, why.
func TestCLIChatNeedsATerminal(t *testing.T) {
	t.Parallel()
	c := newCLI(t).on(xterm)
	got := c.do("chat", "--model", c.script("hello.yaml", "turns: [{text: hello}]"))
	require.Equal(t, 2, got.code)
	require.Contains(t, got.err, "starter send NAME")
	x := c.on("TERM=dumb").terminal("chat", "notes").wait()
	require.Equal(t, 2, x.code)
	dev := c.dev()
	c.ok("run", "--id", "shut", "--model", "scripted/hello.yaml", "hi")
	c.ok("close", "shut")
	id := c.json("run", "--model", "scripted/hello.yaml", "hi")["id"].(string)
	for args, says := range map[string]string{
		"shut":       "the session of shut has ended",
		id:           "takes one prompt",
		"shut@" + id: "which can only be read",
		"fresh":      "model: is missing",
	} {
		x := c.terminal("chat", args).wait()
		require.NotEqual(t, 0, x.code, args)
		require.Contains(t, strings.ReplaceAll(x.out, "\r\n", " "), says, args)
	}
	require.Equal(t, 0, dev.interrupt().wait().code)
}
