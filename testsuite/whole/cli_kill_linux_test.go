package whole_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// workerOf is the process id of the worker that a command of the starter runs.
func (p *process) workerOf() int {
	p.t.Helper()
	var worker int
	require.Eventually(p.t, func() bool {
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		require.NoError(p.t, err)
		for _, file := range all {
			line, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(line), "starter\x00worker\x00") {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			require.NoError(p.t, err)
			if parentOf(pid) == p.cmd.Process.Pid {
				worker = pid
				return true
			}
		}
		return false
	}, patience, 10*time.Millisecond, "%v has no worker", p.cmd.Args)
	return worker
}

// parentOf is zero where the process has ended.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}

// TestCLIWorkerKilled kills the worker of a run with SIGKILL in the middle: run
// says so, starts another, and the execution goes on where it was.
func TestCLIWorkerKilled(t *testing.T) {
	t.Parallel()
	c, held := newCLI(t).holding()
	p := c.start("run", "--id", "w", "--model", heldModel, "--tool", "list_files", "go").untilErr("step 3\n")
	held()
	require.NoError(t, syscall.Kill(p.workerOf(), syscall.SIGKILL))
	p.untilErr("the worker has ended (signal: killed); starting another")
	got := p.wait()
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, slowAnswer, got.out)
	require.Contains(t, got.err, "completed · 3 steps")
	for _, step := range []string{"step 1\n", "step 2\n", "step 3\n"} {
		require.Equal(t, 1, strings.Count(got.err, "\n"+step), got.err)
	}
}

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

// TestCLIServerBackByOther kills the dev server while only a run that has it
// configured by address follows; another command starts it again.
func TestCLIServerBackByOther(t *testing.T) {
	t.Parallel()
	c, held := newCLI(t).holding()
	dev := c.dev()
	server, up := c.server()
	require.True(t, up)
	far := c.on("TEMPORAL_ADDRESS="+server.Address).
		start("run", "--id", "far", "--model", heldModel, "--tool", "list_files", "go").untilErr("step 3\n")
	held()
	dev.kill()
	far.untilErr("the server is away; reconnecting")
	c.quiet()
	_, port, _ := strings.Cut(server.Address, ":")
	again := c.start("dev", "--port", port, "--json").untilOut(`"address"`)
	got := far.wait()
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, slowAnswer, got.out)
	requireInOrder(t, got.err, "the server is away; reconnecting", "the server is back", "completed · 3 steps")
	require.Equal(t, 0, again.interrupt().wait().code)
}
