package kills_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain/contract"
	"everstep/starter/devserver"
	"everstep/starter/render"
	"everstep/testsuite/proof/kills"
)

// TestKills kills real workers at every boundary, of plain agents and of those
// with all that one can have, and finds no promise broken.
func TestKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lease, err := devserver.Acquire(t.Context(), devserver.Config{
		StateFile: filepath.Join(dir, "dev.db"), Binary: os.Getenv("EVERSTEP_TEMPORAL"),
		Dynamic:  map[string]string{"limit.historyCount.suggestContinueAsNew": "60"},
		Progress: func(line string) { t.Log(line) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lease.Close()) })

	made := len(contract.Boundaries())
	report, err := kills.Chaos(t.Context(), kills.ChaosConfig{
		Address: lease.Server().Address, Dir: dir, Kills: made, Seed: 1,
		Progress: func(line string) { t.Log(line) },
	})
	t.Logf("\n%s", report.Table().Render(render.Plain(nil)))
	require.NoError(t, err)
	require.Empty(t, report.Broken)
	require.Empty(t, report.Unreached)
	require.Equal(t, made, report.Total.Kills)
	require.Equal(t, made, report.Total.TranscriptsEqual)
	require.Equal(t, made, report.Total.EventsEqual)
	require.Len(t, report.Rows, len(contract.Boundaries()))
	for _, row := range report.Rows {
		require.Positive(t, row.Kills, row.Boundary)
		require.Positive(t, row.P50, row.Boundary)
	}
	require.Positive(t, report.Summaries)
	for _, kind := range report.Kinds {
		require.Equal(t, strings.HasPrefix(kind.Name, "whole-"), len(kind.On) > 0, kind)
	}
	require.Positive(t, report.Status.Answers)
}

// TestKillsOverTrees kills the worker of a tree while several sub-agents are at work, and as one has ended.
func TestKillsOverTrees(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lease, err := devserver.Acquire(t.Context(), devserver.Config{
		StateFile: filepath.Join(dir, "dev.db"), Binary: os.Getenv("EVERSTEP_TEMPORAL"), Progress: func(line string) { t.Log(line) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lease.Close()) })

	report, err := kills.Trees(t.Context(), kills.TreesConfig{
		Address: lease.Server().Address, Dir: dir, Each: 1, Lanes: 2, Points: []kills.TreePoint{kills.PointAmongChildren, kills.PointChildEnded},
		Progress: func(line string) { t.Log(line) },
	})
	t.Logf("\n%s", report.Table().Render(render.Plain(nil)))
	require.NoError(t, err)
	require.Empty(t, report.Broken)
	require.Equal(t, 2, report.Kills)
	require.Equal(t, 12, report.Agents)
	for _, row := range report.Rows {
		require.Equal(t, 1, row.TranscriptsEqual, row.Point)
		require.Positive(t, row.P50, row.Point)
	}
}
