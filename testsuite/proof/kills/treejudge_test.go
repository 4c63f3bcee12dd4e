package kills

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
)

// treeOf is a tree of a root and a leaf, killed by worker process 7, as it is undisturbed.
func treeOf(change func(*treeTrial, *treeAgent)) *treeTrial {
	t := newTreeTrial(PointChildTool)
	t.killed, t.pid, t.wentOn = time.Now(), 7, time.Second
	usage := domain.Usage{InputTokens: 10}
	own := client.TreeUse{Usage: usage.View(), CostNanoUSD: new(int64(5))}
	execution := domain.AgentID{}.Execution("x", 1)
	call := domain.ToolExecution{ID: execution.Step(1).Tool(0), Call: domain.ToolCall{ID: "1", Name: payTool}, Value: "paid", StartedAt: time.Now(), CompletedAt: time.Now()}
	agent := func() treeAgent {
		return treeAgent{
			Tree:     client.Tree{Status: domain.StatusCompleted, StopReason: domain.Completed, Steps: new(1), Own: own},
			messages: []domain.Entry{{Message: domain.UserMessage("go")}},
			steps:    []domain.StepExecution{{Step: domain.AgentStep{Number: 1, ToolExecutions: []domain.ToolExecution{call}}}},
			effects:  map[domain.ToolExecutionID]int{call.ID: 1},
		}
	}
	leaf := agent()
	t.tree.Total = client.TreeUse{Usage: usage.Add(usage).View(), CostNanoUSD: new(int64(10))}
	t.result.Outcome.Usage, t.result.Outcome.CostNanoUSD = usage.Add(usage), 10
	if change != nil {
		change(t, &leaf)
	}
	t.agents = map[string]treeAgent{"root": agent(), "root, step 1, call 1": leaf}
	return t
}

// TestBrokenTrees: each promise that a tree breaks is told.
func TestBrokenTrees(t *testing.T) {
	t.Parallel()
	lost := func(a *treeAgent) domain.ToolExecutionID {
		call := &a.steps[0].Step.ToolExecutions[0]
		call.Value, call.Error = "", domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown, "nobody knows")
		return call.ID
	}
	for name, c := range map[string]struct {
		change func(*treeTrial, *treeAgent)
		broken []Promise
	}{
		"undisturbed":         {nil, nil},
		"unknown by the kill": {func(_ *treeTrial, a *treeAgent) { a.inFlight = map[domain.ToolExecutionID]int{lost(a): 7} }, nil},
		"unknown for nothing": {func(_ *treeTrial, a *treeAgent) { lost(a) }, []Promise{PromiseUnknown}},
		"lost and not unknown": {func(_ *treeTrial, a *treeAgent) {
			a.inFlight = map[domain.ToolExecutionID]int{a.steps[0].Step.ToolExecutions[0].ID: 7}
		}, []Promise{PromiseUnknown}},
		"a doubled effect":     {func(_ *treeTrial, a *treeAgent) { a.effects[a.steps[0].Step.ToolExecutions[0].ID] = 2 }, []Promise{PromiseEffects}},
		"a missing effect":     {func(_ *treeTrial, a *treeAgent) { a.effects = nil }, []Promise{PromiseEffects}},
		"a lost step":          {func(_ *treeTrial, a *treeAgent) { a.steps = nil }, []Promise{PromiseSteps}},
		"another transcript":   {func(_ *treeTrial, a *treeAgent) { a.messages[0].Message = domain.UserMessage("stay") }, []Promise{PromiseTranscript}},
		"another end":          {func(_ *treeTrial, a *treeAgent) { a.Status = domain.StatusFailed }, []Promise{PromiseOutcome}},
		"history tells others": {func(_ *treeTrial, a *treeAgent) { a.told = []string{"a step"} }, []Promise{PromiseAccount}},
		"an orphan":            {func(t *treeTrial, _ *treeAgent) { t.running = []string{"agent/x"} }, []Promise{PromiseOrphans}},
		"a leak of the pool":   {func(t *treeTrial, _ *treeAgent) { t.result.Outcome.Usage.InputTokens = 19 }, []Promise{PromisePool}},
		"a cost that is lost":  {func(t *treeTrial, _ *treeAgent) { t.result.Outcome.CostNanoUSD = 9 }, []Promise{PromisePool}},
		"never killed":         {func(t *treeTrial, _ *treeAgent) { t.killed = time.Time{} }, []Promise{PromiseGoesOn}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &treeKills{config: TreesConfig{Points: TreePoints()}}
			p.judge(treeOf(c.change), treeOf(nil).agents)
			var broken []Promise
			for _, b := range p.report(time.Second).Broken {
				broken = append(broken, b.Promise)
			}
			require.Equal(t, c.broken, broken)
		})
	}
	p := &treeKills{config: TreesConfig{Points: TreePoints()}}
	base := treeOf(nil).agents
	base["root, step 1, call 2"] = base["root"]
	p.judge(treeOf(nil), base)
	require.Equal(t, PromiseOutcome, p.broken[0].Promise, "an agent is missing")
}
