package kills_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/starter/devserver"
	"everstep/starter/render"
	"everstep/testsuite/proof/kills"
)

// TestLoad opens a few sessions, wakes them warm and cold, and has one converse over a continue-as-new.
func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lease, err := devserver.Acquire(t.Context(), devserver.Config{
		StateFile: filepath.Join(dir, "load.db"), Binary: os.Getenv("EVERSTEP_TEMPORAL"),
		Dynamic:  map[string]string{"limit.historyCount.suggestContinueAsNew": "60"},
		Progress: func(line string) { t.Log(line) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lease.Close()) })
	report, err := kills.Load(t.Context(), kills.LoadConfig{
		Address: lease.Server().Address, Namespace: lease.Server().Namespace, ServerPID: lease.Server().PID, Dir: dir,
		Idle: 8, Turns: 35, Progress: func(line string) { t.Log(line) },
	})
	require.NoError(t, err)
	t.Logf("\n%s", report.Told(render.Plain(nil)))
	require.Empty(t, report.Broken)
	idle, turns := report.Idle, report.Turns
	require.Equal(t, []int{4, 4}, []int{idle.Warm.Sessions, idle.Cold.Sessions})
	for _, positive := range []float64{idle.Warm.P50, idle.Warm.P99, idle.Cold.P50, idle.Cold.P99, idle.OpenedSeconds} {
		require.Positive(t, positive)
	}
	require.Greater(t, idle.HistoryBytes, int64(2500), "what was said is in it")
	require.GreaterOrEqual(t, idle.MostHistoryBytes, idle.HistoryBytes)
	if runtime.GOOS == "linux" {
		for _, memory := range []kills.Memory{idle.Before, idle.After, idle.Restarted} {
			require.Greater(t, memory.Worker, int64(10<<20))
			require.Greater(t, memory.Server, int64(10<<20))
		}
	}
	require.Len(t, turns.Blocks, 2)
	require.Equal(t, []int{1, 30, 31, 35}, []int{turns.Blocks[0].From, turns.Blocks[0].To, turns.Blocks[1].From, turns.Blocks[1].To})
	require.Greater(t, turns.Runs, 2, "it was continued as new")
	require.Greater(t, turns.Bytes, int64(35*2500), "of all runs")
}
