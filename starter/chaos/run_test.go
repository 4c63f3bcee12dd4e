package chaos_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/chaos"
	"everstep/starter/devserver"
)

// TestKills kills real workers at every boundary, twice at each, and finds no
// promise broken.
func TestKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lease, err := devserver.Acquire(t.Context(), devserver.Config{
		StateFile: filepath.Join(dir, "chaos.db"), Binary: os.Getenv("EVERSTEP_TEMPORAL"),
		Dynamic:  map[string]string{"limit.historyCount.suggestContinueAsNew": "60"},
		Progress: func(line string) { t.Log(line) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lease.Close()) })

	each := 2
	if testing.Short() {
		each = 1
	}
	kills := each * len(domain.Boundaries())
	report, err := chaos.Run(t.Context(), chaos.Config{
		Address: lease.Server().Address, Dir: dir, Kills: kills, Seed: 1,
		Progress: func(line string) { t.Log(line) },
	})
	t.Logf("\n%s", report.Table())
	require.NoError(t, err)
	require.Empty(t, report.Broken)
	require.Empty(t, report.Unreached)
	require.Equal(t, kills, report.Total.Kills)
	require.Equal(t, kills, report.Total.TranscriptsEqual)
	for _, row := range report.Rows {
		require.Equal(t, each, row.Kills, row.Boundary)
		require.Positive(t, row.P50, row.Boundary)
	}
	require.Positive(t, report.Status.Answers)
}
