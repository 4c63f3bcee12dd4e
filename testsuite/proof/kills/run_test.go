package kills

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/kill"
)

func at(b contract.Boundary, step int) hit {
	return hit{Boundary: b, ExecutionID: sampleExecution(), Step: step}
}

// TestAmongCalls tells the end of a lone call, or of the first of several, from one among calls of which some have ended.
func TestAmongCalls(t *testing.T) {
	t.Parallel()
	r := newRun(sample())
	s := r.root()
	call := func(b contract.Boundary, position int) hit {
		h := at(b, 2)
		h.Position, h.Call = position, paid(position)
		return h
	}
	for _, position := range []int{0, 1} {
		require.Equal(t, contract.BeforeEffect, s.boundary(call(contract.BeforeEffect, position)))
		require.True(t, r.released(s, call(contract.BeforeEffect, position)))
	}
	require.Equal(t, contract.AfterEffect, s.boundary(call(contract.AfterEffect, 0)), "none has ended")
	require.True(t, r.released(s, call(contract.AfterEffect, 0)))
	require.Equal(t, contract.AmongCalls, s.boundary(call(contract.AfterEffect, 1)), "one has ended, this one not")
	require.Equal(t, contract.AfterEffect, s.boundary(call(contract.AfterEffect, 0)), "it does not count for itself")

	r.killed(&kill.Kill{}, Point(contract.AmongCalls), s, call(contract.AfterEffect, 1))
	require.Equal(t, []domain.ToolExecutionID{paid(1)}, r.kills[0].inFlight, "the other has ended")
}

// TestGoingOn: an agent goes on with its next request or effect, and a request that was made before is one more.
func TestGoingOn(t *testing.T) {
	t.Parallel()
	r := newRun(sample())
	s := r.root()
	require.False(t, r.goesOn(at(contract.BeforeRequest, 1)), "nothing to go on from")
	require.True(t, r.released(s, at(contract.BeforeRequest, 1)))
	s.number(sampleExecution())
	require.Equal(t, standing{execution: 1, requested: 1}, s.standing())
	r.killed(&kill.Kill{}, Point(contract.InStream), s, at(contract.InStream, 1))
	require.False(t, r.goesOn(at(contract.BetweenSteps, 1)))
	require.True(t, r.goesOn(at(contract.BeforeRequest, 1)))
	require.False(t, r.goesOn(at(contract.BeforeRequest, 1)), "it has gone on")
	require.Positive(t, r.kills[0].WentOn)
	again := at(contract.BeforeRequest, 1)
	again.WorkflowID = "w"
	require.True(t, r.released(s, again))
	require.Equal(t, map[string]int{"w": 1}, r.kills[0].extra)

	undisturbed := newRun(sample())
	require.True(t, undisturbed.released(undisturbed.root(), at(contract.BeforeRequest, 1)))
	require.False(t, undisturbed.released(undisturbed.root(), at(contract.BeforeRequest, 1)), "a second request without a kill")
}

// TestSummaries are told from the step's own inference, and counted apart.
func TestSummaries(t *testing.T) {
	t.Parallel()
	r := newRun(sample())
	s := r.root()
	summary := func(b contract.Boundary) hit {
		h := at(b, 4)
		h.Summary = true
		return h
	}
	require.Equal(t, contract.InSummary, s.boundary(summary(contract.InStream)))
	require.Equal(t, contract.InStream, s.boundary(at(contract.InStream, 4)))
	require.True(t, r.released(s, summary(contract.BeforeRequest)))
	require.True(t, r.released(s, at(contract.BeforeRequest, 4)), "the step's own is another request")
	require.False(t, r.released(s, summary(contract.BeforeRequest)), "a second summary without a kill")
}

// TestHookAtAKill is the one whose effect may have been made and not reported.
func TestHookAtAKill(t *testing.T) {
	t.Parallel()
	hook := func(b contract.Boundary, key string) hit {
		h := at(b, 0)
		h.Hook = key
		return h
	}
	for name, test := range map[string]struct {
		released []hit
		killed   hit
		want     []string
	}{
		"before its effect":        {killed: hook(contract.BeforeHook, "b")},
		"after its effect":         {released: []hit{hook(contract.BeforeHook, "b")}, killed: hook(contract.AfterHook, "b"), want: []string{"b"}},
		"before the next one's":    {released: []hit{hook(contract.BeforeHook, "a"), hook(contract.AfterHook, "a")}, killed: hook(contract.BeforeHook, "b")},
		"in a call beside it":      {released: []hit{hook(contract.BeforeHook, "a")}, killed: hook(contract.AfterEffect, ""), want: []string{"a"}},
		"when it has reported":     {released: []hit{hook(contract.BeforeHook, "a"), hook(contract.BetweenSteps, "")}, killed: hook(contract.InStream, "")},
		"when the model was asked": {released: []hit{hook(contract.AfterHook, "a"), hook(contract.BeforeRequest, "")}, killed: hook(contract.InStream, "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(sample())
			for _, h := range test.released {
				require.True(t, r.released(r.root(), h))
			}
			r.killed(&kill.Kill{}, Point(test.killed.Boundary), r.root(), test.killed)
			require.Equal(t, test.want, r.kills[0].hooks)
			require.True(t, r.goesOn(hook(contract.BeforeHook, "b")), "a hook's effect is going on")
		})
	}
}

// TestWhoseHitItIs: hits of the agent, which some tell by its id alone, and of those that it may start; no others.
func TestWhoseHitItIs(t *testing.T) {
	t.Parallel()
	r := newRun(Trees()[0])
	own := hit{WorkflowID: domain.WorkflowID(r.id), ExecutionID: r.agentID.Execution("run", 1)}
	child := own.ExecutionID.Step(1).Tool(2).Subagent()
	below := hit{WorkflowID: domain.WorkflowID(child.String()), ExecutionID: child.Execution("run", 1), Step: 1}
	require.Nil(t, r.of(below), "nobody knows its parent yet")
	require.Zero(t, r.of(own).depth)
	require.Equal(t, 1, r.of(below).depth)
	deeper := hit{WorkflowID: domain.WorkflowID(below.ExecutionID.Step(1).Tool(0).Subagent().String())}
	require.Equal(t, 2, r.of(deeper).depth)
	require.Same(t, r.root(), r.of(hit{AgentID: r.agentID}))
	require.Nil(t, r.of(hit{AgentID: child}))
	require.Nil(t, r.of(hit{WorkflowID: "agent/another"}))

	// A kill of the tree notes what all its agents were at.
	for _, s := range []*seen{r.root(), r.of(below)} {
		require.True(t, r.released(s, hit{Boundary: contract.BeforeEffect, Call: own.ExecutionID.Step(s.depth).Tool(0)}))
	}
	r.killed(&kill.Kill{}, "child_tool", r.of(below), hit{})
	require.Len(t, r.kills[0].inFlight, 2)
}
