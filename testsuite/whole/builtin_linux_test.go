package whole_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
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

// TestCLIShellDoesNotApprove: a command that has the starter and knows the server, beside which a call waits for a person,
// neither sees nor approves that call, unless the worker's configuration gives it the network.
func TestCLIShellDoesNotApprove(t *testing.T) {
	t.Parallel()
	for _, network := range []bool{false, true} {
		t.Run(fmt.Sprint("network ", network), func(t *testing.T) {
			t.Parallel()
			c := newCLI(t).on("PATH="+os.Getenv("PATH"), "EVERSTEP_BUILTIN_TOOLS=shell", fmt.Sprint("EVERSTEP_SHELL_NETWORK=", network))
			c.script("self.yaml", `turns:
  - tool_calls:
      - {name: shell, arguments: {script: ./try}}
      - {name: shell, arguments: {script: touch approved}}
  - text: Done.
`)
			bin, err := os.ReadFile(c.bin)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(c.dir, "starter"), bin, 0o700))
			dev := c.dev()
			server, up := c.server()
			require.True(t, up)
			// It tries until it is told to end, or has done it.
			try := `#!/bin/sh
until test -e enough -o -e approved; do
	for at in TEMPORAL_ADDRESS=` + server.Address + ` EVERSTEP_STATE=` + c.state + `; do
		call=$(env $at EVERSTEP_TEMPORAL=/nowhere ./starter approvals self --json 2>> said | grep -o '"tool_execution_id": *"[^"]*"' | head -n 1 | cut -d'"' -f4)
		test -n "$call" && env $at ./starter approve self "$call" --reason "the boss agrees" >> said 2>&1
	done
	echo tried >> tried
	sleep 0.2
done
`
			require.NoError(t, os.WriteFile(filepath.Join(c.dir, "try"), []byte(try), 0o700))
			file := c.file("self.agent.yaml", "model: scripted/self.yaml\ntools: [shell]\napprovals:\n  - {tool: shell, arguments: {script: ./try}, then: allow}\n  - {tool: shell, then: ask}\n")
			p := c.start("run", "--id", "self", "--agent", file, "go")
			made := func(name string) bool { _, err := os.Stat(filepath.Join(c.dir, name)); return err == nil }
			if network {
				require.Eventually(t, func() bool { return made("approved") }, patience, 50*time.Millisecond)
				require.Equal(t, 0, p.wait().code)
				require.Contains(t, c.ok("explain", "self"), "the boss agrees")
				require.Equal(t, 0, dev.interrupt().wait().code)
				return
			}
			p.untilErr("waits for approval")
			var calls []domain.Wait
			require.NoError(t, json.Unmarshal([]byte(c.ok("approvals", "self", "--json")), &calls))
			require.Len(t, calls, 1)
			require.Eventually(t, func() bool {
				tried, _ := os.ReadFile(filepath.Join(c.dir, "tried")) // not yet there
				return strings.Count(string(tried), "tried") >= 3
			}, patience, 50*time.Millisecond)
			require.False(t, made("approved"))
			require.NoError(t, os.WriteFile(filepath.Join(c.dir, "enough"), nil, 0o600))
			c.ok("deny", "self", calls[0].ToolExecutionID.String())
			require.Equal(t, 0, p.wait().code)
			require.NotContains(t, c.ok("explain", "self"), "the boss agrees")
			require.Equal(t, 0, dev.interrupt().wait().code)
		})
	}
}
