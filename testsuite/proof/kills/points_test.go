package kills

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

func boundaries() (all []Point) {
	for _, b := range enum.Known[contract.Boundary]() {
		all = append(all, Point(b))
	}
	return all
}

// TestWhoReachesWhat gives plain agents the eight boundaries of a step, and leaves none to nobody.
func TestWhoReachesWhat(t *testing.T) {
	t.Parallel()
	require.Equal(t, boundaries()[:8], Reached(Plain()))
	require.Equal(t, boundaries(), Reached(Scripted()))
	require.NotContains(t, Reached(Whole()[1:]), Point(contract.InSummary), "unknown outcomes would move the summaries")
	require.Len(t, Reached(Calls()), 20)
	require.Len(t, Reached(Trees()), 7)
}

// TestPoints are reached by some hits, and not by others.
func TestPoints(t *testing.T) {
	t.Parallel()
	scripted, tree := newRun(sample()), newRun(Trees()[0])
	working, done := newSeen(1), newSeen(1)
	for _, s := range []*seen{working, done} {
		s.number(sampleExecution())
		s.released(at(contract.BeforeRequest, 1))
	}
	done.released(at(contract.AfterRequest, 2))
	beside := func(other *seen) *run {
		r := newRun(Trees()[0])
		r.agents["other"] = other
		return r
	}
	for name, test := range map[string]struct {
		point Point
		run   *run
		seen  *seen
		hit   hit
		want  bool
	}{
		"a boundary":             {"in_stream", scripted, newSeen(0), at(contract.InStream, 3), true},
		"another boundary":       {"in_stream", scripted, newSeen(0), at(contract.AfterRequest, 3), false},
		"while it asks":          {"paused", scripted, newSeen(0), at(contract.BeforeRequest, 3), true},
		"while it is answered":   {"paused", scripted, newSeen(0), at(contract.InStream, 3), false},
		"a tool at work":         {"keyed, in_effect", newRun(agentNamed(Calls(), "keyed-in_effect")), newSeen(0), at("", 1), true},
		"a later tool at work":   {"keyed, in_effect", newRun(agentNamed(Calls(), "keyed-in_effect")), newSeen(0), at("", 2), false},
		"a tool that is done":    {"keyed, in_effect", newRun(agentNamed(Calls(), "keyed-in_effect")), newSeen(0), at(contract.AfterEffect, 1), false},
		"a child's first step":   {"child_starts", tree, newSeen(1), at(contract.BetweenSteps, 1), true},
		"the root's first step":  {"child_starts", tree, newSeen(0), at(contract.BetweenSteps, 1), false},
		"the root's second step": {"parent_goes_on", tree, newSeen(0), at(contract.BetweenSteps, 2), true},
		"a tool two deep":        {"below_child", tree, newSeen(2), at(contract.AfterEffect, 1), true},
		"a tool one deep":        {"below_child", tree, newSeen(1), at(contract.AfterEffect, 1), false},
		"a last answer":          {pointChildEnded, tree, newSeen(1), at(contract.AfterRequest, 2), true},
		"an answer":              {pointChildEnded, tree, newSeen(1), at(contract.AfterRequest, 1), false},
		"a child alone":          {"among_children", tree, newSeen(1), at(contract.BeforeRequest, 1), false},
		"a child beside one":     {"among_children", beside(working), newSeen(1), at(contract.BeforeRequest, 1), true},
		"a child after one":      {"among_children", beside(done), newSeen(1), at(contract.BeforeRequest, 1), false},
	} {
		require.Equal(t, test.want, (&killPoint{Point: test.point}).at(test.run, test.seen, test.hit), name)
	}
}

// agentNamed is one of several agents.
func agentNamed(agents []Agent, name string) Agent {
	for _, a := range agents {
		if a.Name == name {
			return a
		}
	}
	return Agent{}
}

func anywhere(Point) bool { return true }

// TestKillPlan spreads kills evenly and gives the same ones for the same seed.
func TestKillPlan(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64) (all []killPoint) {
		p := newPlan(18, boundaries(), seed)
		for k := p.next(anywhere); k != nil; k = p.next(anywhere) {
			all = append(all, *k)
		}
		return all
	}
	planned := draw(1)
	require.Equal(t, planned, draw(1))
	require.NotEqual(t, planned, draw(2))
	counts := map[Point]int{}
	for _, k := range planned {
		counts[k.Point]++
		require.GreaterOrEqual(t, k.skip, 0)
	}
	for i, b := range boundaries() {
		want := 1
		if i < 4 {
			want = 2
		}
		require.Equal(t, want, counts[b], b)
	}

	some := newPlan(18, boundaries(), 1)
	only := func(p Point) bool { return p == "paused" || p == "in_stream" }
	for k := some.next(only); k != nil; k = some.next(only) {
		require.True(t, only(k.Point), k.Point)
	}
	require.Positive(t, some.left["continuing"], "the others are left for agents that get there")
	require.Zero(t, some.left["paused"]+some.left["in_stream"])

	p := newPlan(18, boundaries(), 1)
	taken := p.next(anywhere)
	p.unreachable(taken.Point)
	require.Equal(t, map[Point]int{taken.Point: counts[taken.Point]}, p.lost)
	for k := p.next(anywhere); k != nil; k = p.next(anywhere) {
		require.NotEqual(t, taken.Point, k.Point)
	}
}

// TestConfigIsChecked names the field and the fix.
func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	one := sample()
	for want, config := range map[string]Config{
		"kills: is 0; give a number from 1 on":  {Agents: Plain()},
		"lanes: is -1; give":                    {Kills: 1, Lanes: -1},
		"agents: there are none":                {Kills: 1},
		"none of the agents reaches in_summary": {Kills: 1, Agents: Plain(), Points: []Point{"in_summary"}},
		"none of the agents reaches nowhere":    {Kills: 1, Agents: Plain(), Points: []Point{"nowhere"}},
	} {
		_, err := Run(t.Context(), config)
		require.ErrorContains(t, err, want)
	}
	_, err := tools([]Agent{one, {Name: "other", Tools: []Tool{{Name: payTool, Effect: domain.Idempotent}}}})
	require.ErrorContains(t, err, "agent other: tool pay: is idempotent here and at_most_once elsewhere")
}
