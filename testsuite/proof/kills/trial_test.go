package kills

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestAmongCalls tells the end of a lone call, or of the first of several, from
// one among calls of which some have ended.
func TestAmongCalls(t *testing.T) {
	t.Parallel()
	agent, _ := sample()
	trial := newTrial(agent, "sample")
	at := func(b contract.Boundary, position int) hit {
		return hit{Boundary: b, ExecutionID: sampleExecution(), Step: 2, Position: position, Call: sampleExecution().Step(2).Tool(position)}
	}
	for _, position := range []int{0, 1} {
		require.Equal(t, contract.BeforeEffect, trial.boundary(at(contract.BeforeEffect, position)))
		require.True(t, trial.released(at(contract.BeforeEffect, position)))
	}
	require.Equal(t, contract.AfterEffect, trial.boundary(at(contract.AfterEffect, 0)), "none has ended")
	require.True(t, trial.released(at(contract.AfterEffect, 0)))
	require.Equal(t, contract.AmongCalls, trial.boundary(at(contract.AfterEffect, 1)), "one has ended, this one not")
	require.Equal(t, contract.AfterEffect, trial.boundary(at(contract.AfterEffect, 0)), "it does not count for itself")

	trial.killed(at(contract.AfterEffect, 1), contract.AmongCalls, time.Now())
	require.Equal(t, []domain.ToolExecutionID{sampleExecution().Step(2).Tool(1)}, trial.kills[0].inFlight, "the other has ended")
}

// TestGoingOn measures from the kill to the next request or effect, and counts
// a request that was made before as one more.
func TestGoingOn(t *testing.T) {
	t.Parallel()
	agent, _ := sample()
	trial := newTrial(agent, "sample")
	at := func(b contract.Boundary) hit { return hit{Boundary: b, ExecutionID: sampleExecution(), Step: 1} }
	now := time.Now()
	require.False(t, trial.reached(at(contract.BeforeRequest), now), "nothing to go on from")
	require.True(t, trial.released(at(contract.BeforeRequest)))
	require.Equal(t, standing{execution: 1, requested: 1}, trial.standing())
	trial.killed(at(contract.InStream), contract.InStream, now)
	require.False(t, trial.reached(at(contract.BetweenSteps), now.Add(time.Second)))
	require.True(t, trial.reached(at(contract.BeforeRequest), now.Add(3*time.Second)))
	require.True(t, trial.released(at(contract.BeforeRequest)))
	require.Equal(t, 3*time.Second, trial.kills[0].wentOn)
	require.Equal(t, 1, trial.kills[0].extra)

	undisturbed := newTrial(agent, "sample")
	require.True(t, undisturbed.released(at(contract.BeforeRequest)))
	require.False(t, undisturbed.released(at(contract.BeforeRequest)), "a second request without a kill")
}

// TestSummaries are told from the step's own inference, and counted apart.
func TestSummaries(t *testing.T) {
	t.Parallel()
	agent, _ := sample()
	trial := newTrial(agent, "sample")
	at := func(b contract.Boundary, summary bool) hit {
		return hit{Boundary: b, ExecutionID: sampleExecution(), Step: 4, Summary: summary}
	}
	require.Equal(t, contract.InSummary, trial.boundary(at(contract.InStream, true)))
	require.Equal(t, contract.InStream, trial.boundary(at(contract.InStream, false)))
	require.True(t, trial.released(at(contract.BeforeRequest, true)))
	require.True(t, trial.released(at(contract.BeforeRequest, false)), "the step's own is another request")
	require.False(t, trial.released(at(contract.BeforeRequest, true)), "a second summary without a kill")
}

// TestHookAtAKill is the one whose effect may have been made and not reported.
func TestHookAtAKill(t *testing.T) {
	t.Parallel()
	agent, _ := sample()
	at := func(b contract.Boundary, key string) hit {
		return hit{Boundary: b, ExecutionID: sampleExecution(), Hook: key}
	}
	for name, test := range map[string]struct {
		released []hit
		killed   hit
		want     string
	}{
		"before its effect":        {killed: at(contract.BeforeHook, "b")},
		"after its effect":         {released: []hit{at(contract.BeforeHook, "b")}, killed: at(contract.AfterHook, "b"), want: "b"},
		"before the next one's":    {released: []hit{at(contract.BeforeHook, "a"), at(contract.AfterHook, "a")}, killed: at(contract.BeforeHook, "b")},
		"in a call beside it":      {released: []hit{at(contract.BeforeHook, "a")}, killed: at(contract.AfterEffect, ""), want: "a"},
		"when it has reported":     {released: []hit{at(contract.BeforeHook, "a"), at(contract.BetweenSteps, "")}, killed: at(contract.InStream, "")},
		"when the model was asked": {released: []hit{at(contract.AfterHook, "a"), at(contract.BeforeRequest, "")}, killed: at(contract.InStream, "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial := newTrial(agent, "sample")
			for _, h := range test.released {
				require.True(t, trial.released(h))
			}
			trial.killed(test.killed, test.killed.Boundary, time.Now())
			require.Equal(t, test.want, trial.kills[0].hook)
			require.True(t, trial.reached(at(contract.BeforeHook, "b"), time.Now().Add(time.Second)), "a hook's effect is going on")
		})
	}
}

// TestWhoReachesWhat gives plain agents the eight boundaries of a step, and
// leaves none to nobody.
func TestWhoReachesWhat(t *testing.T) {
	t.Parallel()
	require.Equal(t, contract.Boundaries()[:8], Reached(Plain()))
	require.Equal(t, contract.Boundaries(), Reached(Scripted()))
	require.NotContains(t, Reached(Whole()[1:]), contract.InSummary, "unknown outcomes would move the summaries")
	for _, a := range Plain() {
		require.Empty(t, a.on())
	}
	for _, a := range Whole() {
		require.Subset(t, a.on(), []string{"hooks", "guards", "structured output", "money", "going on"})
	}
	require.Equal(t, "whole-notes: hooks, guards, compaction, structured output, money, going on", Whole()[0].String())
	require.Equal(t, "notes: plain", Plain()[0].String())
	require.True(t, (&aim{boundary: contract.Paused}).at(contract.BeforeRequest), "an agent is paused while it asks")
	require.False(t, (&aim{boundary: contract.Paused}).at(contract.InStream))
}

func anywhere(contract.Boundary) bool { return true }

// TestPool spreads kills evenly and gives the same ones for the same seed.
func TestPool(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64) (aims []aim) {
		p := newPool(18, contract.Boundaries(), seed)
		for a := p.next(anywhere); a != nil; a = p.next(anywhere) {
			aims = append(aims, *a)
		}
		return aims
	}
	aims := draw(1)
	require.Equal(t, aims, draw(1))
	require.NotEqual(t, aims, draw(2))
	counts := map[contract.Boundary]int{}
	for _, a := range aims {
		counts[a.boundary]++
		require.GreaterOrEqual(t, a.skip, 0)
	}
	for i, b := range contract.Boundaries() {
		want := 1
		if i < 4 {
			want = 2
		}
		require.Equal(t, want, counts[b], b)
	}

	some := newPool(18, contract.Boundaries(), 1)
	only := func(b contract.Boundary) bool { return b == contract.Paused || b == contract.InStream }
	for a := some.next(only); a != nil; a = some.next(only) {
		require.True(t, only(a.boundary), a.boundary)
	}
	require.Positive(t, some.left[contract.Continuing], "the others are left for agents that get there")
	require.Zero(t, some.left[contract.Paused]+some.left[contract.InStream])

	p := newPool(18, contract.Boundaries(), 1)
	taken := p.next(anywhere)
	p.unreachable(taken.boundary)
	require.Equal(t, map[contract.Boundary]int{taken.boundary: counts[taken.boundary]}, p.lost)
	for a := p.next(anywhere); a != nil; a = p.next(anywhere) {
		require.NotEqual(t, taken.boundary, a.boundary)
	}
}

// TestConfigIsChecked names the field and the fix.
func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	agent, _ := sample()
	for want, config := range map[string]ChaosConfig{
		"kills: is 0; give a number from 1 on":    {},
		"lanes: is -1; give":                      {Kills: 1, Lanes: -1},
		`boundary: "nowhere" is none of`:          {Kills: 1, Boundaries: []contract.Boundary{"nowhere"}},
		"executions: the first goes on from none": {Kills: 1, Agents: []Agent{{Name: "a", Script: agent.Script, Executions: []Execution{{GoesOn: true}}}}},
		"none of the agents reaches in_summary":   {Kills: 1, Agents: Plain(), Boundaries: []contract.Boundary{contract.InSummary}},
		"executions: there are none":              {Kills: 1, Agents: []Agent{{Name: "a", Script: agent.Script}}},
		"script: is empty":                        {Kills: 1, Agents: []Agent{{Name: "a", Executions: agent.Executions}}},
	} {
		_, err := Chaos(t.Context(), config)
		require.ErrorContains(t, err, want)
	}
	_, err := tools([]Agent{agent, {Name: "other", Tools: []Tool{{payTool, domain.Idempotent}}}})
	require.ErrorContains(t, err, "agent other: tool pay: is idempotent here and at_most_once elsewhere")
}
