package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// asTool has the sub-agent of the name leaf be a tool of its own.
func asTool(in *contract.SessionInput) {
	leaf := in.Definition.Subagents["leaf"]
	leaf.AsTool = true
	in.Definition.Subagents["leaf"] = leaf
}

func callsLeaf(arguments ...string) contract.ModelReply {
	var calls []domain.ToolCall
	for _, text := range arguments {
		calls = append(calls, domain.ToolCall{ID: "1", Name: "leaf", Arguments: text})
	}
	return says("", calls...)
}

func firstOf(step int, first contract.ModelReply) contract.ModelReply {
	if step == 1 {
		return first
	}
	return says("done")
}

func TestAnAgentIsAToolOfItsOwn(t *testing.T) {
	t.Parallel()
	w := family(func(step int) contract.ModelReply {
		return firstOf(step, callsLeaf(`{"prompt":"find a"}`, `{"prompt":"find b"}`))
	}, answersFound)
	env := w.executed(t, input(t, "", withLeaf, asTool))

	completes(t, env)
	require.Empty(t, w.ran, "no worker is asked for it")
	step := stepsIn(t, env, 0)[0].Step
	require.Equal(t, domain.Spent{Steps: 2, Tokens: 30}, step.Children)
	for _, call := range step.ToolExecutions {
		require.Equal(t, "leaf", call.Name())
		require.JSONEq(t, `{"status":"completed","stop_reason":"completed","answer":"found","effects":[]}`, call.Value)
	}
	for _, spawning := range eventsIn(t, env, 1, domain.EventSubagentSpawning) {
		require.Equal(t, "leaf", spawning.Data.(domain.SubagentSpawning).Subagent)
	}
}

// TestAnAgentTakesTheNameOfATool that the worker lists all the same: what is called is the agent.
func TestAnAgentTakesTheNameOfATool(t *testing.T) {
	t.Parallel()
	w := family(func(step int) contract.ModelReply { return firstOf(step, callsLeaf(`{"prompt":"x"}`)) }, answersFound)
	w.tools = append(w.tools, domain.ToolSpec{Name: "leaf", Effect: domain.AtMostOnce})
	env := w.executed(t, input(t, "", withLeaf, asTool))
	completes(t, env)
	require.Empty(t, w.ran)
	require.Len(t, w.listed, 2)
}

// TestAnAgentIsNoToolWhereItIsDeniedAbove: by its name, with all that starts others, or by a rule about it.
func TestAnAgentIsNoToolWhereItIsDeniedAbove(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*domain.Definition)
		agents int
	}{
		"allowed":     {func(*domain.Definition) {}, 3},
		"by its name": {func(d *domain.Definition) { d.SubagentPolicy.Deny = []string{"leaf"} }, 2},
		"by a rule": {func(d *domain.Definition) {
			d.Approvals = &domain.Approvals{Rules: []domain.ApprovalRule{{Tool: "leaf", Then: domain.Deny}}}
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := family(nil, nil)
			w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
				switch len(w.asked) {
				case 1:
					return spawning("mid", "find"), nil
				case 2:
					return callsLeaf(`{"prompt":"x"}`), nil
				}
				return says("done"), nil
			}
			env := w.executed(t, input(t, "", func(in *contract.SessionInput) {
				d := &in.Definition
				d.Subagents = map[string]domain.Subagent{"mid": {Agent: "mid"}}
				d.Agents = map[string]domain.Definition{
					"mid":  {Subagents: map[string]domain.Subagent{"leaf": {Agent: "leaf", AsTool: true, Description: "Finds."}}, Approvals: domain.ApprovalsOf("allow")},
					"leaf": {SystemPrompt: "leaf"},
				}
				test.change(d)
			}))
			completes(t, env)
			require.Len(t, w.listed, test.agents)
		})
	}
}
