package workflows_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// looksOn is a leaf that never comes to an end of its own.
func looksOn(contract.ModelRequest) (contract.ModelReply, error) {
	return says("I look", look()), nil
}

// TestAnAgentKeepsAnAnswer back from sub-agents that use up all that they get.
func TestAnAgentKeepsAnAnswer(t *testing.T) {
	t.Parallel()
	price := &domain.Price{Input: 1_000_000_000, Output: 2_000_000_000}
	for name, budget := range map[string]domain.ExecutionBudget{
		"steps": {MaxSteps: number(9)}, "few steps": {MaxSteps: number(3)},
		"tokens": {MaxTokens: number(5000)}, "money": {MaxCostNanoUSD: number(5_000_000)},
		"all": {MaxSteps: number(30), MaxTokens: number(1000), MaxCostNanoUSD: number(900_000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := family(spawnsOnce("leaf", "a", "b", "c"), looksOn)
			w.tool = func(contract.ToolRequest) (contract.ToolReply, error) {
				return contract.ToolReply{Content: fmt.Sprint("seen ", time.Now().UnixNano())}, nil // no two are the same
			}
			env := w.environment(t)
			reachesRoot(env)
			execute(env, input(t, "", withLeaf, func(in *contract.SessionInput) {
				in.Budget, in.Definition.Model.Price = budget, price
				in.Definition.Agents = map[string]domain.Definition{"leaf.yaml": {SystemPrompt: "leaf", Model: in.Definition.Model}}
			}))
			out := outcome(t, env)
			require.Equal(t, domain.StatusCompleted, out.Status, out.StopReason)
			calls := executions(t, env)
			stopped, told := 0, 0
			for _, call := range calls {
				if strings.Contains(call.Value, `"status":"stopped"`) {
					stopped++
				} else if call.Error != nil {
					require.Contains(t, call.Error.Message, "not run: too little is left of max_steps to share it")
					told++
				}
			}
			require.Equal(t, 3, stopped+told)
			require.Equal(t, name == "few steps", told == 2, "of one step two get nothing, and are told so")
			if budget.MaxTokens != nil {
				require.LessOrEqual(t, out.Usage.TotalTokens(), *budget.MaxTokens)
			}
		})
	}
}

// TestSeatsAreTakenAtOnce: what takes long to send to the server lets no more sub-agents than that be under way.
func TestSeatsAreTakenAtOnce(t *testing.T) {
	t.Parallel()
	prompts := make([]string, domain.MaxAtOnce+6)
	for i := range prompts {
		prompts[i] = strings.Repeat("x", 300_000)
	}
	w := family(spawnsOnce("leaf", prompts...), repeats(says("I pay", callOf("pay"))))
	env := w.environment(t)
	reachesRoot(env)
	var under int
	env.RegisterDelayedCallback(func() {
		under = len(status(t, env).Children)
		signalStop(env, contract.StopRequest{})
	}, time.Hour)
	execute(env, input(t, "", withLeaf, ruled("writes")))
	endsAs(t, env, domain.StatusStopped)
	require.Equal(t, domain.MaxAtOnce, under)
}

// wholly is how a store hangs that takes all the time it is given.
func wholly(given time.Duration) time.Duration { return given }

// lineage is a worker of agents of which each starts one below it, so many levels deep; the last one waits for a person. Its
// store of records hangs.
func lineage(levels int) *world {
	w := family(nil, nil)
	w.hangs = wholly
	w.list = func(r contract.ResolveRequest) (contract.Resolved, error) {
		return contract.Resolved{Tools: w.tools, MinOutputTokens: 1, Records: true, Digest: domain.DigestOf([]byte(fmt.Sprint(len(w.listed))))}, nil
	}
	begun := 0
	w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
		if begun++; begun <= levels {
			return spawning("self", "on"), nil
		}
		return says("I pay", callOf("pay")), nil
	}
	return w
}

// TestAStoreThatHangsLosesNoSubagent: beside a stop of mode now each agent of a tree still tells the one above what it has
// used, and does where each takes longer than it should.
func TestAStoreThatHangsLosesNoSubagent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		levels int
		hangs  func(time.Duration) time.Duration
		within time.Duration
	}{
		"a tree":      {3, wholly, 30 * time.Second},
		"a deep tree": {9, wholly, 40 * time.Second},
		"late tries":  {4, func(time.Duration) time.Duration { return 25 * time.Second }, 130 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := lineage(test.levels)
			w.hangs = test.hangs
			env := w.environment(t)
			reachesRoot(env)
			var stopped time.Time
			env.RegisterDelayedCallback(func() {
				stopped = env.Now()
				signalStop(env, contract.StopRequest{Mode: contract.StopNow})
			}, time.Hour)
			execute(env, input(t, "", atDepth(10), func(in *contract.SessionInput) {
				in.Definition.Subagents = map[string]domain.Subagent{"self": {Agent: "self.yaml", InheritsTools: true}}
				in.Definition.Agents = map[string]domain.Definition{"self.yaml": {Subagents: in.Definition.Subagents}}
				in.Definition.Approvals = domain.ApprovalsOf("writes")
				in.Budget.MaxTokens = number(10_000_000)
			}))
			out := outcome(t, env)
			require.Equal(t, domain.StatusStopped, out.Status)
			require.False(t, out.Usage.Estimated, "no grant is counted in place of what was used")
			require.Equal(t, int64(test.levels+1)*15, out.Usage.TotalTokens())
			require.Less(t, env.Now().Sub(stopped), test.within)
			call := executions(t, env)[0]
			require.Contains(t, call.Value, `"status":"stopped"`)
		})
	}
}

// TestAnOutageIsPaidForOnce: a sub-agent that begins while the store is known to be down waits for it but briefly.
func TestAnOutageIsPaidForOnce(t *testing.T) {
	t.Parallel()
	w := family(func(step int) contract.ModelReply {
		if step <= 5 {
			return spawning("leaf", "find")
		}
		return says("done")
	}, answersFound)
	w.hangs = wholly
	w.list = func(r contract.ResolveRequest) (contract.Resolved, error) {
		return contract.Resolved{Tools: w.tools, MinOutputTokens: 1, Records: true, Digest: domain.DigestOf([]byte(r.Definition.SystemPrompt))}, nil
	}
	env := w.environment(t)
	began := env.Now()
	execute(env, input(t, "", withLeaf))
	completes(t, env)
	require.Less(t, env.Now().Sub(began), 40*time.Second, "10 s for the first, 2 for each other, 10 of its own")
}
