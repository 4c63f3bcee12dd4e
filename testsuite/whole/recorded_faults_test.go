package whole_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/hook"
	"everstep/testsuite"
)

// eachPlayed drives the recorded runs through the adapters, each through one of
// them; with EVERSTEP_RECORDED=all each through each.
func eachPlayed(t *testing.T, test func(t *testing.T, server *playedServer, run *playedRun, seed uint64)) {
	t.Helper()
	runs, all, every := repeated(recordedRuns(t), enough), everyRecorded(), 1
	if testing.Short() {
		every = 10
	}
	t.Run("runs", func(t *testing.T) {
		for a, api := range playedAPIs() {
			server := servePlayed(t, api)
			for i, recorded := range runs {
				if !all && (i%4 != a || i/4%every != 0) {
					continue
				}
				t.Run(api.name+"/"+recorded.ID, func(t *testing.T) {
					t.Parallel()
					test(t, server, recorded.played(i), uint64(100*a+i))
				})
			}
		}
	})
}

// played is the run as a server plays it. Some runs call tools in parallel, and
// of three of four the usage is told early.
func (r recordedRun) played(i int) *playedRun {
	if i%5 < 2 {
		r = r.merged()
	}
	whole := r.whole(25)
	for k := range whole.steps {
		u := &whole.steps[k].usage
		u.ReasoningTokens = u.OutputTokens / 4
	}
	return &playedRun{wholeRun: whole, seal: fmt.Sprintf("%04d", i), early: i/4%4 != 0, bodies: map[int]string{}}
}

// with is the same run with faults, and nothing asked yet.
func (p *playedRun) with(faults *faultPlan) *playedRun {
	return &playedRun{wholeRun: p.wholeRun, seal: p.seal, early: p.early, faults: faults, bodies: map[int]string{}}
}

// definition is an agent whose model is the run's, by name.
func (p *playedRun) definition(server *playedServer, name string) domain.Definition {
	definition := limited(domain.ExecutionBudget{})
	definition.Model.Provider, definition.Model.Model = server.api.name, server.add(name, p)
	definition.SystemPrompt, definition.Hooks = p.system, []string{p.user().Name}
	if p.faults != nil && p.faults.stalls > 0 {
		definition.Model.Timeouts.Idle = stallIdle
	}
	return definition
}

// stallIdle is how long the answers of runs in which one stalls may pause. No
// healthy one comes near it, also on a machine that gives this process no processor for seconds.
const stallIdle = 10 * time.Second

// play runs it in memory.
func (p *playedRun) play(t *testing.T, server *playedServer, name string, tools []tool.Tool) testsuite.Run {
	t.Helper()
	run := testsuite.New(t, testsuite.Config{
		Definition: p.definition(server, name), Provider: server.provider, Tools: tools, Hooks: []hook.Hook{p.user()},
	}).Run(p.prompt)
	p.requireSound(t)
	require.Equal(t, domain.StatusCompleted, run.Outcome.Status, "%+v", run.Error)
	return run
}

// plainMessages are messages as JSON, without when they came.
func plainMessages(t *testing.T, messages []domain.Message) []string {
	t.Helper()
	plain := make([]string, len(messages))
	for i, m := range messages {
		m.CreatedAt = time.Time{}
		text, err := json.Marshal(m)
		require.NoError(t, err)
		plain[i] = string(text)
	}
	return plain
}

// TestRecordedRunsWithFaults drives recorded runs through the adapters. Every request of them is held against OpenAI's own
// description or against what the other APIs demand, and against the recording: reasoning goes back as it came. Then
// a fifth of all calls of models and tools fail, in all the ways that there are. Nothing of it is seen in the conversation, no
// tool does anything twice, and what was lost is counted to the token.
func TestRecordedRunsWithFaults(t *testing.T) {
	t.Parallel()
	report, check := &faultReport{faults: map[faultKind]int{}}, newRequestCheck(t)
	eachPlayed(t, func(t *testing.T, server *playedServer, smooth *playedRun, seed uint64) {
		smooth.check = check.of(smooth, server.api)
		want := smooth.play(t, server, fmt.Sprint(seed), smooth.tools())
		smooth.requireRecorded(t, want.Messages)
		require.Len(t, smooth.asked, len(smooth.steps))

		stalls := 0
		if seed%12 == 0 {
			stalls = 1
		}
		rough, tools := smooth.with(newFaultPlan(seed, stalls)), newFlaky(seed)
		got := rough.play(t, server, fmt.Sprint(seed), tools.tools(rough.toolNames, rough.result))
		require.Equal(t, plainMessages(t, want.Messages), plainMessages(t, got.Messages))
		require.Equal(t, want.Answer, got.Answer)
		require.Equal(t, want.Outcome.Steps, got.Outcome.Steps)
		tools.requireOnce(t, rough.calls())
		rough.reckon(want.Messages).require(t, got)
		report.add(rough)
	})
	if t.Failed() {
		return
	}
	check.require(t)
	t.Logf("%d requests, of which %.1f %% failed: %v", report.requests, report.percent(), report.faults)
	if !testing.Short() {
		// Chance has a share in it, which four standard deviations bound.
		require.InDelta(t, 20, report.percent(), max(2, 400*math.Sqrt(0.2*0.8/float64(report.requests))))
		if report.requests < 1000 {
			t.Log("with so FEW requests not every kind of fault has to come")
			return
		}
		require.Len(t, report.faults, len(faultKinds())-2, "not every kind came")
	}
}

// result is what the recording has for a call.
func (p *playedRun) result(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
	at, _ := tool.ExecutionOf(ctx)
	return tool.Result{Content: p.steps[at.Step-1].results[at.Position]}, nil
}

// requireRecorded holds a conversation against the recording.
func (p *playedRun) requireRecorded(t *testing.T, got []domain.Message) {
	t.Helper()
	want := p.messages(len(p.steps))
	require.Len(t, got, len(want))
	step := 0
	for i, m := range got {
		if m.Role == domain.RoleAssistant {
			want[i].ToolCalls = p.api.calls(step, want[i].ToolCalls)
			step++
		}
		require.True(t, sameMessage(recordedOf(m), want[i]), "message %d is %+v; want %+v", i, recordedOf(m), want[i])
	}
}
