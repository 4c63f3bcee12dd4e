package testsuite_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/starter/chaos"
)

func TestZZ(t *testing.T) {
	var agents []chaos.Agent
	for _, run := range recordedRuns(t) {
		if run.ID == os.Getenv("RUN") {
			agents = append(agents, whole(run.merged().underKills(t)))
		}
	}
	report, err := chaos.Run(t.Context(), chaos.Config{
		Address: servers.server(t, "continuing", continuing).Address, Dir: "/tmp/chaosx/dir", Kills: 1, Agents: agents, Seed: 7, Lanes: 1,
		Progress: func(line string) { t.Log(line) },
	})
	t.Logf("\n%s", report.Table())
	require.NoError(t, err)
}
