package whole_test

import (
	"net/http"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCLIServerKilled kills the dev server with SIGKILL while a run that keeps
// it up, and one that has it configured by address, follow executions: it is
// started again on the same state, both say that it was away and back, and both
// end well. The models answer only once the server is known to be gone, so
// neither execution can end before.
func TestCLIServerKilled(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	gone := make(chan struct{})
	answer := func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-gone:
		case <-r.Context().Done():
		}
		streamed("stop", `{"content":"Done."}`)(w, r)
	}
	// Whose heartbeats the server missed for too long while it was away is asked again.
	model := serveChat(t, slices.Repeat([]http.HandlerFunc{answer}, 20)...)
	c = c.on("OPENAI_API_KEY=sk-sesame", "OPENAI_BASE_URL="+model.URL)
	dev := c.dev()
	server, up := c.server()
	require.True(t, up)
	runs := []*process{
		c.start("run", "--id", "own", "--model", "openai-chat/m-1", "go"),
		c.on("TEMPORAL_ADDRESS="+server.Address).start("run", "--id", "far", "--model", "openai-chat/m-1", "go"),
	}
	for _, p := range runs {
		p.untilErr("step 1\n")
	}
	require.NoError(t, syscall.Kill(server.PID, syscall.SIGKILL))
	dev.untilErr("the dev server is gone; starting it again") // within half a second, it may be, so that who follows does not miss it
	close(gone)
	for _, p := range runs {
		got := p.wait()
		require.Equal(t, 0, got.code, got.err)
		require.Equal(t, "Done.\n", got.out)
		requireInOrder(t, got.err, "step 1\n", "completed · 1 step")
	}
	require.Contains(t, runs[0].err.String(), "the dev server is gone; starting it again")
	require.True(t, dev.running())
}
