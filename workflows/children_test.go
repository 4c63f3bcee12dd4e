package workflows_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// leafDigest is of what a worker makes of the definition of a leaf, which starts nobody.
var leafDigest = domain.DigestOf([]byte("leaf"))

// family is the worker of an agent that starts leaves: what its model answers at each step, and what a leaf's does.
func family(root func(step int) contract.ModelReply, leaf func(contract.ModelRequest) (contract.ModelReply, error)) *world {
	w := &world{tools: []domain.ToolSpec{
		{Name: "look", Effect: domain.ReadOnly}, {Name: "pay", Effect: domain.AtMostOnce},
	}}
	w.list = func(r contract.ResolveRequest) (contract.Resolved, error) {
		return contract.Resolved{Tools: w.tools, MinOutputTokens: 1, Price: r.Definition.Model.Price, Digest: domain.DigestOf([]byte(r.Definition.SystemPrompt))}, nil
	}
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		if r.Resolved == leafDigest {
			return leaf(r)
		}
		return root(r.Step), nil
	}
	return w
}

func spawning(subagent string, prompts ...string) contract.ModelReply {
	var calls []domain.ToolCall
	for i, prompt := range prompts {
		arguments, _ := json.Marshal(domain.Spawn{Subagent: subagent, Prompt: prompt})
		calls = append(calls, domain.ToolCall{ID: fmt.Sprint(i), Name: domain.SpawnSubagent, Arguments: string(arguments)})
	}
	return says("", calls...)
}

// withLeaf gives an agent a sub-agent of the name leaf.
func withLeaf(in *contract.SessionInput) {
	in.Definition.SystemPrompt = "root"
	in.Definition.Subagents = map[string]domain.Subagent{"leaf": {Description: "Finds things.", Agent: "leaf.yaml", InheritsTools: true}}
	in.Definition.Agents = map[string]domain.Definition{"leaf.yaml": {SystemPrompt: "leaf"}}
}

// spawnsOnce starts leaves in the first step, and answers in the second.
func spawnsOnce(subagent string, prompts ...string) func(int) contract.ModelReply {
	return func(step int) contract.ModelReply { return firstOf(step, spawning(subagent, prompts...)) }
}

func answersFound(contract.ModelRequest) (contract.ModelReply, error) { return says("found"), nil }

func TestSubagentsAnswerSideBySide(t *testing.T) {
	t.Parallel()
	var left []int64
	w := family(spawnsOnce("leaf", "find a", "find b"), func(r contract.ModelRequest) (contract.ModelReply, error) {
		left = append(left, r.TokensLeft)
		return says("found"), nil
	})
	env := w.executed(t, input(t, "", withLeaf, budgeted(tokensOf(20_000))))

	out := outcome(t, env)
	require.Equal(t, domain.StatusCompleted, out.Status)
	require.Equal(t, 2, out.Steps, "only its own")
	require.Equal(t, int64(60), out.Usage.TotalTokens(), "theirs too")
	require.Len(t, left, 2)
	require.Equal(t, left[0], left[1], "equal shares of what was left")
	require.InDelta(t, 20_000/3, left[0], 100, "and one of them stays for the answer")
	steps := stepsIn(t, env, 0)
	require.Equal(t, domain.Spent{Steps: 2, Tokens: 30}, steps[0].Step.Children)
	for i, call := range steps[0].Step.ToolExecutions {
		require.JSONEq(t, `{"status":"completed","stop_reason":"completed","answer":"found","effects":[]}`, call.Value)
		child := call.ID.Subagent()
		require.False(t, child.IsZero(), i)
	}
	status := status(t, env)
	require.Empty(t, status.Children)
	require.Equal(t, int64(20_000-60), *status.Ledger.Own().Left.MaxTokens, "what they did not use came back")
	var events []string
	for _, e := range eventsOf(t, env, 0) {
		if kind := e.Type; strings.HasPrefix(string(kind), "Subagent") {
			events = append(events, string(kind))
		}
	}
	require.Equal(t, []string{"SubagentSpawning", "SubagentSpawning", "SubagentCompleted", "SubagentCompleted"}, events)
	require.Equal(t, []string{"look"}, w.listed[1].Definition.Tools, "they have those of the agent that starts them")
}

// TestCallsThatStartNoSubagent, by the tool that starts all of them and by one's own.
func TestCallsThatStartNoSubagent(t *testing.T) {
	t.Parallel()
	spawns := func(arguments string) contract.ModelReply {
		return says("", domain.ToolCall{Name: domain.SpawnSubagent, Arguments: arguments})
	}
	for name, test := range map[string]struct {
		call   contract.ModelReply
		change func(*contract.SessionInput)
		says   string
	}{
		"unknown":  {spawns(`{"subagent":"nobody","prompt":"x"}`), nil, `subagent: there is no "nobody"; there are: leaf`},
		"too deep": {spawns(`{"subagent":"leaf","prompt":"x"}`), atDepth(0), "not run: sub-agents may be 0 deep"},

		"its own tool without object": {callsLeaf(`[1]`), asTool, "arguments: are no object with the text prompt"},
		"its own tool, too deep": {callsLeaf(`{"prompt":"x"}`), func(in *contract.SessionInput) {
			asTool(in)
			atDepth(0)(in)
		}, "not run: sub-agents may be 0 deep"},
		"spawned, though it has its own tool": {spawning("leaf", "x"), asTool, "unknown tool"},
		"its own tool, denied by a rule": {callsLeaf(`{"prompt":"x"}`), func(in *contract.SessionInput) {
			asTool(in)
			in.Definition.Approvals = &domain.Approvals{Rules: []domain.ApprovalRule{{Tool: "leaf", Then: domain.Deny}}}
		}, "denied: the rules of this agent do not allow this call"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := family(func(step int) contract.ModelReply { return firstOf(step, test.call) }, answersFound)
			in := input(t, "", withLeaf)
			if test.change != nil {
				test.change(&in)
			}
			env := w.executed(t, in)
			completes(t, env)
			call := executions(t, env)[0]
			require.NotNil(t, call.Error)
			require.Contains(t, call.Error.Message, test.says)
			require.Len(t, w.listed, 1, "nobody was started")
		})
	}
}

func atDepth(n int) func(*contract.SessionInput) {
	return func(in *contract.SessionInput) { in.Definition.SubagentPolicy.MaxDepth = &n }
}

// TestARingOfSubagentsEnds at the depth that the root allows, though each starts itself again.
func TestARingOfSubagentsEnds(t *testing.T) {
	t.Parallel()
	var agents atomic.Int64
	w := &world{}
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		if r.Step == 1 {
			agents.Add(1)
			return spawning("self", "again"), nil
		}
		return says("done"), nil
	}
	env := w.executed(t, input(t, "", atDepth(2), func(in *contract.SessionInput) {
		in.Definition.Subagents = map[string]domain.Subagent{"self": {Agent: "self.yaml"}}
		in.Definition.Agents = map[string]domain.Definition{"self.yaml": {
			Subagents: in.Definition.Subagents, SubagentPolicy: domain.SubagentPolicy{MaxDepth: new(10)},
		}}
	}))

	out := outcome(t, env)
	require.Equal(t, domain.StatusCompleted, out.Status)
	require.Equal(t, int64(3), agents.Load(), "the root and two below it, whatever those would allow")
	require.Equal(t, int64(3*2*15), out.Usage.TotalTokens())
}

// TestAStopReachesSubagents in each mode, where they wait for a person.
func TestAStopReachesSubagents(t *testing.T) {
	t.Parallel()
	for _, mode := range enum.Known[contract.StopMode]() {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := family(spawnsOnce("leaf", "a", "b"), repeats(says("I pay", callOf("pay"))))
			env := w.environment(t)
			reachesRoot(env)
			env.RegisterDelayedCallback(func() {
				status := status(t, env)
				require.Len(t, status.Children, 2)
				signalStop(env, contract.StopRequest{Mode: mode, Reason: "enough"})
			}, time.Hour)
			execute(env, input(t, "", withLeaf, ruled("writes")))

			out := outcome(t, env)
			require.Equal(t, domain.StatusStopped, out.Status)
			require.Equal(t, domain.UserRequested, out.StopReason)
			require.Empty(t, w.ran)
			calls := executions(t, env)
			for _, call := range calls {
				require.JSONEq(t, `{"status":"stopped","stop_reason":"user_requested","answer":"I pay","effects":[]}`, call.Value)
			}
		})
	}
}

// TestAHundredSubagentsAtOnce run so many at a time, and draw from one budget.
func TestAHundredSubagentsAtOnce(t *testing.T) {
	t.Parallel()
	prompts := make([]string, 100)
	for i := range prompts {
		prompts[i] = fmt.Sprintf("find %d", i)
	}
	var under, most atomic.Int64
	w := family(spawnsOnce("leaf", prompts...), func(contract.ModelRequest) (contract.ModelReply, error) {
		if n := under.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer under.Add(-1)
		return says("found"), nil
	})
	env := w.executed(t, input(t, "", withLeaf, func(in *contract.SessionInput) {
		in.Budget.MaxTokens, in.Budget.MaxSteps = number(1_000_000), number(102)
	}))

	out := outcome(t, env)
	require.Equal(t, domain.StatusCompleted, out.Status, out.StopReason)
	require.Equal(t, int64(15*102), out.Usage.TotalTokens())
	require.LessOrEqual(t, most.Load(), int64(domain.MaxAtOnce))
}

// TestASubagentIsHeldToWhatIsAbove: the tools denied to it, and the approvals of the agents that started it or, where they have
// none, of their workers.
func TestASubagentIsHeldToWhatIsAbove(t *testing.T) {
	t.Parallel()
	denied := domain.ApprovalsOf("deny")
	denied.Rules = append([]domain.ApprovalRule{{Tool: domain.SpawnSubagent, Then: domain.Allow}}, denied.Rules...)
	for name, test := range map[string]struct {
		deny         []string
		own, workers *domain.Approvals
		ran          int
	}{
		"nothing":              {nil, domain.ApprovalsOf("allow"), nil, 1},
		"a tool":               {[]string{"pay"}, domain.ApprovalsOf("allow"), nil, 0},
		"approvals":            {nil, denied, nil, 0},
		"a worker's approvals": {nil, nil, denied, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := family(spawnsOnce("leaf", "find"), func(r contract.ModelRequest) (contract.ModelReply, error) {
				return firstOf(r.Step, says("", callOf("pay"))), nil
			})
			w.tool, w.approvals = saw, test.workers
			env := w.executed(t, input(t, "", withLeaf, func(in *contract.SessionInput) {
				in.Definition.SubagentPolicy.Deny, in.Definition.Approvals = test.deny, test.own
				in.Definition.Agents = map[string]domain.Definition{"leaf.yaml": {SystemPrompt: "leaf", Approvals: domain.ApprovalsOf("allow")}}
			}))
			completes(t, env)
			require.Len(t, w.ran, test.ran)
		})
	}
}
