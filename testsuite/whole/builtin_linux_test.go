package whole_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCLIShell: a command runs in the folder; one whose worker is killed is ended with
// all that it has started, does not run again, and the model is told that nobody knows.
func TestCLIShell(t *testing.T) {
	t.Parallel()
	c := newCLI(t).on("PATH="+os.Getenv("PATH"), "EVERSTEP_BUILTIN_TOOLS=shell", "EVERSTEP_TEST_SECRET=sesame")
	model := c.script("shell.yaml", `turns:
  - tool_calls: [{name: shell, arguments: {script: "echo made > made; cat made; env; exit 3"}}]
  - tool_calls: [{name: shell, arguments: {script: "echo ran >> ran; export MARK=$PWD/mark; setsid sleep 1000 & exec sleep 1000"}}]
  - text: Done.
`)
	p := c.start("run", "--id", "sh", "--model", model, "--tool", "shell", "go")
	// They are in a namespace and do not know their numbers.
	marked := func() (n int) {
		processes, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range processes {
			if environ, _ := os.ReadFile(file); strings.Contains(string(environ), "\x00MARK="+c.dir+"/mark\x00") { // it may have ended
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return marked() == 2 }, patience, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(p.workerOf(), syscall.SIGKILL))
	require.Eventually(t, func() bool { return marked() == 0 }, patience, 10*time.Millisecond, "something goes on")
	got := p.wait()
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, "Done.\n", got.out)
	ran, err := os.ReadFile(filepath.Join(c.dir, "ran"))
	require.NoError(t, err)
	require.Equal(t, "ran\n", string(ran), "it ran once")
	dev := c.dev()
	said := c.ok("messages", "sh", "--json")
	require.Contains(t, said, "[exit 3 after ")
	require.Contains(t, said, "TERM=dumb")
	require.Contains(t, said, "outcome unknown")
	require.NotContains(t, said, "sesame")
	require.Equal(t, 0, dev.interrupt().wait().code)
}
