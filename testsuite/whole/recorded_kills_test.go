package whole_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/render"
	"everstep/testsuite/proof/kills"
	"everstep/testsuite/proof/report"
)

// TestKillsOverRecordedRuns kills workers over real models' runs, and over runs
// made from them in which calls that came one after the other come at once, with
// hooks, guards and a window that is too small for them. EVERSTEP_KILLS says how
// many kills; there are few without it, since the proof's own agents are killed at
// each boundary in its own tests.
func TestKillsOverRecordedRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no kills over recorded runs")
	}
	var agents []kills.Agent
	for _, run := range recordedRuns(t) {
		// Shorter ones never continue as new.
		if len(run.tools()) > 1 && run.steps() >= 12 {
			agents = append(agents, run.underKills(t), run.merged().crowdedUnderKills(t))
		}
	}
	if len(agents) == 0 {
		t.Skip("no run is long enough to continue as new: nothing was killed over recorded runs")
	}
	made := 4
	if text := os.Getenv("EVERSTEP_KILLS"); text != "" {
		var err error
		made, err = strconv.Atoi(text)
		require.NoError(t, err, "EVERSTEP_KILLS")
	}
	t.Parallel()
	found, err := kills.Run(t.Context(), kills.Config{
		Address: servers.server(t, "continuing", continuing).Address, Dir: t.TempDir(), Kills: made, Agents: agents, Seed: 7,
		Progress: func(line string) { t.Log(line) },
	})
	t.Logf("%d agents\n%s", len(agents), found.Text(render.Plain(nil)))
	require.NoError(t, err)
	require.Empty(t, found.Broken)
	all := found.Row("all")
	require.Equal(t, made, all.Value("kills"))
	require.Equal(t, report.Share{N: made, Of: made}, all.Value("transcripts_equal"))
	require.Equal(t, report.Share{N: made, Of: made}, all.Value("events_equal"))
	require.Positive(t, found.Facts.Value("summaries"))
}

// crowdedUnderKills is the agent with all that a run which was recorded without can have: no
// format, since its answers are free, and no stop for calls that it repeats. The
// window is too small for all that was said.
func (r recordedRun) crowdedUnderKills(t testing.TB) kills.Agent {
	t.Helper()
	a := r.underKills(t)
	const dollar = 1_000_000_000
	said := int64(0)
	for _, e := range r.Executions {
		said += domain.EstimateText(e.Prompt)
		for _, m := range e.Messages {
			said += domain.EstimateText(m.Content)
		}
	}
	a.Definition = domain.Definition{
		Model:  domain.LLMConfig{ContextWindow: domain.EstimateText(r.System) + said*2/3, MaxOutputTokens: 4096, Price: &domain.Price{Input: dollar, Output: dollar}},
		Hooks:  []string{kills.SteerHook, kills.WatchHook(domain.TriggerBeforeToolUse), kills.WatchHook(domain.TriggerAfterStep)},
		Guards: domain.Guards{FinishReasons: []domain.FinishReason{domain.FinishContentFilter}, Repetition: &domain.Repetition{Nudge: 2}},
		Budget: domain.ExecutionBudget{MaxCostNanoUSD: new(int64(100 * dollar))},
	}
	return a
}

func (r recordedRun) steps() (n int) {
	for _, e := range r.Executions {
		n += len(e.steps())
	}
	return n
}

// merged is the run with each series of steps that only call tools made into
// one step with parallel calls.
func (r recordedRun) merged() recordedRun {
	out := recordedRun{ID: r.ID + "-merged", System: r.System}
	for _, e := range r.Executions {
		var calls, results []recordedMessage
		merged := recordedExecution{Prompt: e.Prompt, Cut: e.Cut}
		flush := func() {
			if len(calls) == 0 {
				return
			}
			all := recordedMessage{Role: "assistant"}
			for _, m := range calls {
				all.Content += m.Content
				all.ToolCalls = append(all.ToolCalls, m.ToolCalls...)
			}
			merged.Messages = append(append(merged.Messages, all), results...)
			calls, results = nil, nil
		}
		for _, m := range e.Messages {
			switch {
			case m.Role == "tool":
				results = append(results, m)
			case len(m.ToolCalls) > 0:
				calls = append(calls, m)
			default:
				flush()
				merged.Messages = append(merged.Messages, m)
			}
		}
		flush()
		out.Executions = append(out.Executions, merged)
	}
	return out
}

// underKills is the run as an agent of the kills. Its tools are idempotent.
func (r recordedRun) underKills(t testing.TB) kills.Agent {
	t.Helper()
	agent := kills.Agent{Name: r.ID, System: r.System}
	for _, name := range r.tools() {
		agent.Tools = append(agent.Tools, kills.Tool{Name: name, Effect: domain.Idempotent})
	}
	var said []recordedStep
	for _, e := range r.Executions {
		execution, steps := kills.Execution{Prompt: e.Prompt}, e.steps()
		for _, step := range steps {
			execution.Results = append(execution.Results, step.results)
			step.usage = domain.Usage{InputTokens: 100, OutputTokens: 10}
			said = append(said, step)
		}
		if e.Cut {
			execution.Budget = domain.ExecutionBudget{MaxSteps: new(int64(len(steps)))}
		}
		agent.Executions = append(agent.Executions, execution)
	}
	agent.Script = []byte(scriptOf(t, said))
	return agent
}
