package kills

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/starter/client"
	"everstep/starter/devserver"
	"everstep/starter/local"
	"everstep/starter/render"
	"everstep/testsuite/proof/report"
)

// on is a configuration with a dev server of its own, which suggests to continue as new after so many events.
func on(t *testing.T, suggest string) Config {
	t.Helper()
	dir := t.TempDir()
	lease, err := devserver.Acquire(t.Context(), devserver.Config{
		StateFile: filepath.Join(dir, "dev.db"), Binary: os.Getenv("EVERSTEP_TEMPORAL"),
		Dynamic:  map[string]string{"limit.historyCount.suggestContinueAsNew": suggest},
		Progress: func(line string) { t.Log(line) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lease.Close()) })
	return Config{Address: lease.Server.Address, Dir: dir, Seed: 1, Kills: 1, Progress: func(line string) { t.Log(line) }}
}

// held makes the kills of a configuration, all of which have to be made, and requires that no promise was broken.
func held(t *testing.T, config Config) report.Report {
	t.Helper()
	found, err := Run(t.Context(), config)
	t.Logf("\n%s", found.Text(render.Plain(nil)))
	require.NoError(t, err)
	require.Empty(t, found.Broken)
	all := found.Row("all")
	require.Equal(t, config.Kills, all.Value("kills"))
	require.Equal(t, report.Share{N: config.Kills, Of: config.Kills}, all.Value("transcripts_equal"))
	require.Positive(t, found.Facts.Value("status_answers"))
	return found
}

// TestKills kills real workers at every boundary, of plain agents and of those with all that one can have, and finds no promise
// broken.
func TestKills(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: .ci/run makes a few of these kills, .ci/long all and many more")
	}
	config := on(t, "60")
	config.Agents, config.Kills, config.Lanes = Scripted(), len(enum.Known[contract.Boundary]()), 1 // whose workers have a seat
	found := held(t, config)
	require.Equal(t, report.Share{N: config.Kills, Of: config.Kills}, found.Row("all").Value("events_equal"))
	for _, b := range enum.Known[contract.Boundary]() {
		require.Positive(t, found.Row(string(b)).Value("kills"), b)
		require.Positive(t, found.Row(string(b)).Value("p50_seconds"), b)
	}
	require.Positive(t, found.Facts.Value("summaries"))
}

// TestKillsOverTrees kills the worker of a tree while several sub-agents are at work, and as one has ended.
func TestKillsOverTrees(t *testing.T) {
	t.Parallel()
	config := on(t, "4096")
	config.Agents, config.Points, config.Kills, config.Lanes = Trees(), []Point{"among_children", pointChildEnded}, 2, 1 // whose workers have a seat
	found := held(t, config)
	require.Equal(t, 12, found.Facts.Value("agents"))
	for _, point := range config.Points {
		require.Equal(t, 1, found.Row(string(point)).Value("kills"), point)
		require.Positive(t, found.Row(string(point)).Value("p50_seconds"), point)
	}
}

// TestKillsOverATightBudget: what a lost inference may have cost is counted, and leaves no more than there was.
func TestKillsOverATightBudget(t *testing.T) {
	t.Parallel()
	config := on(t, "4096")
	config.Agents, config.Kills, config.Lanes = []Agent{tight()}, 2, 1
	config.Points = []Point{Point(contract.BeforeRequest), Point(contract.InStream)}
	held(t, config)
}

// TestWithoutItsUndisturbedRunnerTheProofEnds: with nothing to compare runs with it would wait in vain.
func TestWithoutItsUndisturbedRunnerTheProofEnds(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	config, err := Config{Address: silent.Addr().String(), Dir: t.TempDir(), Kills: 1, Lanes: 1, Agents: Scripted()}.checked()
	require.NoError(t, err)
	temporal, err := sdk.NewLazyClient(sdk.Options{HostPort: config.Address})
	require.NoError(t, err)
	p := &proof{
		config: config, temporal: temporal, sockets: t.TempDir(), plan: newPlan(1, config.Points, 1),
		baselines: make(map[string]func() (left, error)),
	}
	p.undisturbed = &runner{proof: p, agents: local.Client(temporal, config.Address, client.Config{})}
	gone := errors.New("undisturbed: the worker ended by itself")
	ctx, fail := context.WithCancelCause(t.Context())
	p.fail = fail
	time.AfterFunc(100*time.Millisecond, func() { p.fail(gone) }) // at any time
	require.ErrorIs(t, p.run(ctx), gone)
}

// undisturbed is what the whole agents leave on a server that suggests to continue as new after so many events.
func undisturbed(t *testing.T, suggest string) (all []left) {
	t.Helper()
	config := on(t, suggest)
	config.Agents = Whole()
	config, err := config.checked()
	require.NoError(t, err)
	p, err := prepare(t.Context(), config, func(err error) { t.Log(err) })
	require.NoError(t, err)
	t.Cleanup(p.close)
	for _, a := range config.Agents {
		base, err := p.baseline(t.Context(), a)
		require.NoError(t, err)
		all = append(all, base)
	}
	return all
}

// TestWhereRunsContinueDoesNotShow plays the agents where runs continue as new early and where they never do: kills move these
// places, and what is compared has to be the same all the same.
func TestWhereRunsContinueDoesNotShow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: kills show it too")
	}
	early, never := undisturbed(t, "60"), undisturbed(t, "4096")
	for i, a := range Whole() {
		require.Empty(t, check(newRun(a), early[i], never[i]).broken)
	}
}

// TestWholeAgents shows that the agents of the proof do what they are for: each
// thing that a hook, a guard or a compaction can do happens, undisturbed.
func TestWholeAgents(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: what the agents do is seen in the kills")
	}
	both := undisturbed(t, "60")
	notes, payments := both[0].agents[root], both[1].agents[root]

	require.Equal(t, []string{"stopped steps_limit", "completed completed", "completed completed"}, endings(notes))
	require.Equal(t, []string{"failed error", "completed completed"}, endings(payments))
	for agent, all := range map[string]string{"notes": spoken(notes), "payments": spoken(payments)} {
		for _, said := range []string{
			redacted, "It is " + wordForbidden, planB, "You are not done.", "does not fit the required format",
			`{"done":true,"stage":"final"}`, "goes on.", "steps are done.",
		} {
			require.True(t, strings.Contains(all, said), "%s: %s", agent, said)
		}
		require.False(t, strings.Contains(all, wordSecret), agent)
		require.False(t, strings.Contains(all, wordDraft), agent)
	}
	require.True(t, strings.Contains(spoken(notes), "It is "+wordRefused), "an activity blocks a call")
	require.True(t, strings.Contains(spoken(notes), "Repeating them"), "a guard nudges")
	require.True(t, strings.Contains(spoken(notes), "[cleared: "), "a turn quotes a result that was cleared")
	require.True(t, strings.Contains(spoken(payments), "Seen: 4 steps"), "an activity says something")
	requireShort(t, notes, wordLengthy)
	requireShort(t, payments, wordVerbose)
	require.GreaterOrEqual(t, entries(notes, func(e domain.Entry) bool { return e.Section == domain.SectionSummary }), 2)
	overridden := 0
	for _, event := range slices.Concat(slices.Concat(notes.events...), slices.Concat(payments.events...)) {
		if e, ok := event.Data.(domain.ContinuationEvaluated); ok {
			overridden += e.Overridden
		}
	}
	require.Equal(t, 3*2, overridden, "a stop by a hook and one by a guard, three times")

	met := make(map[string]bool)
	for _, b := range []agentLeft{notes, payments} {
		for key, n := range countEffects(b.ledger).hooks {
			require.Equal(t, 1, n, key)
			met[strings.Split(key, "/")[2]] = true
		}
	}
	require.Len(t, met, len(enum.Known[domain.Trigger]()), "an activity at every trigger: %v", met)
}

func endings(b agentLeft) []string {
	var all []string
	for _, r := range b.results {
		all = append(all, string(r.Outcome.Status)+" "+string(r.Outcome.StopReason))
	}
	return all
}

// spoken is all that was said, results included.
func spoken(b agentLeft) string {
	var all strings.Builder
	for _, e := range b.messages {
		all.WriteString(e.Message.Text() + "\n")
		if r := e.Message.ToolResult; r != nil {
			all.WriteString(r.Content + "\n")
		}
	}
	return all.String()
}

func entries(b agentLeft, is func(domain.Entry) bool) (n int) {
	for _, e := range b.messages {
		if is(e) {
			n++
		}
	}
	return n
}

// requireShort fails unless the results with a word were shortened, and there
// are some.
func requireShort(t *testing.T, b agentLeft, word string) {
	t.Helper()
	require.Positive(t, entries(b, func(e domain.Entry) bool {
		r := e.Message.ToolResult
		if r == nil || !strings.Contains(r.Content, word) {
			return false
		}
		require.Less(t, len(r.Content), 70)
		return true
	}))
}
