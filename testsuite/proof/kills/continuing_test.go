package kills

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/devserver"
)

// TestWhereRunsContinueDoesNotShow plays the agents where runs continue as new
// early and where they never do: kills move these places, and transcript and
// events have to be the same all the same.
func TestWhereRunsContinueDoesNotShow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: kills show it too")
	}
	early, never := undisturbed(t, "60"), undisturbed(t, "4096")
	for i, a := range Whole() {
		p := &chaos{config: ChaosConfig{Progress: func(string) {}}}
		v := &verdict{trial: newTrial(a, "sample")}
		none := map[domain.ToolExecutionID]bool{}
		p.judgeSteps(v, early[i], never[i])
		p.judgeTranscript(v, early[i], never[i], none)
		p.judgeEvents(v, early[i], never[i], none)
		require.Empty(t, p.broken)
	}
}

// undisturbed plays the whole agents on a server that suggests to continue as
// new after so many events.
func undisturbed(t *testing.T, suggest string) []played {
	t.Helper()
	dir := t.TempDir()
	lease, err := devserver.Acquire(t.Context(), devserver.Config{
		StateFile: filepath.Join(dir, "chaos.db"), Binary: os.Getenv("EVERSTEP_TEMPORAL"),
		Dynamic: map[string]string{"limit.historyCount.suggestContinueAsNew": suggest},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lease.Close()) })
	config, err := ChaosConfig{Address: lease.Server().Address, Dir: dir, Kills: 1, Agents: Whole()}.checked()
	require.NoError(t, err)
	p, err := begin(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(p.close)
	var all []played
	for _, a := range config.Agents {
		base, err := p.baseline(t.Context(), a)
		require.NoError(t, err)
		all = append(all, base)
	}
	return all
}
