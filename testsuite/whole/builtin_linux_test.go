package whole_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

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
