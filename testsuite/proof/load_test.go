package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/starter/devserver"
	"everstep/starter/render"
	"everstep/testsuite/proof/report"
)

// TestGrowing: a turn may not take more bytes the longer the session is; short ones tell nothing.
func TestGrowing(t *testing.T) {
	t.Parallel()
	blocks := []turnBlock{{30, 9000}, {60, 6000}, {90, 9000}, {120, 7200}}
	require.Empty(t, growing(blocks))
	blocks[3].bytes++
	require.Equal(t, []string{"a turn took 6000 bytes of history at turn 60 and 7201 at turn 120"}, details(report.Report{Broken: growing(blocks)}))
	require.Empty(t, growing([]turnBlock{{30, 1}, {60, 1}, {90, 9}}))
}

// TestLoad opens a few sessions, wakes them warm and cold, and has one converse over a continue-as-new.
func TestLoad(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: .ci/long has it")
	}
	dir := t.TempDir()
	lease, err := devserver.Acquire(t.Context(), devserver.Config{
		StateFile: filepath.Join(dir, "load.db"), Binary: os.Getenv("EVERSTEP_TEMPORAL"),
		Dynamic:  map[string]string{"limit.historyCount.suggestContinueAsNew": "60"},
		Progress: func(line string) { t.Log(line) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lease.Close()) })
	found, err := (&load{Idle: 8, Turns: 35, progress: func(line string) { t.Log(line) }}).run(t.Context(), dir, lease.Server)
	require.NoError(t, err)
	t.Logf("\n%s", found.Text(render.Plain(nil)))
	require.Empty(t, found.Broken)
	for _, name := range []string{"in memory", "after a restart"} {
		row := found.Row(name)
		require.Equal(t, 4, row.Value("sessions"), name)
		require.Positive(t, row.Value("p50_seconds"), name)
		require.GreaterOrEqual(t, row.Value("p99_seconds"), row.Value("p50_seconds"), name)
	}
	require.Greater(t, found.Facts.Value("history_bytes"), int64(2500), "what was said is in it")
	require.GreaterOrEqual(t, found.Facts.Value("most_history_bytes"), found.Facts.Value("history_bytes"))
	require.Greater(t, found.Facts.Value("opened_seconds"), time.Duration(0))
	if runtime.GOOS == "linux" {
		for _, process := range []string{"worker", "server"} {
			for _, key := range []string{"before_bytes", "after_bytes", "restarted_bytes"} {
				require.Greater(t, found.Row(process).Value(key), report.Bytes(10<<20), process)
			}
		}
	}
	require.NotNil(t, found.Row("1 to 30"))
	require.Greater(t, found.Row("31 to 35").Value("runs"), 2, "it was continued as new")
	require.Greater(t, found.Facts.Value("turns_history_bytes"), int64(35*2500), "of all runs")
}
