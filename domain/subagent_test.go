package domain_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func tools(tools []domain.ToolSpec) (names []string) {
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}

func TestAgentsAsToolsOfTheirOwn(t *testing.T) {
	t.Parallel()
	d := domain.Definition{Subagents: map[string]domain.Subagent{
		"writer": {Agent: "w"}, "researcher": {Agent: "r", AsTool: true, Description: "Finds facts."},
	}}
	offered := d.SpawnTools()
	require.Equal(t, []string{domain.SpawnSubagent, "researcher"}, tools(offered))
	require.JSONEq(t, `["writer"]`, jsonAt(t, offered[0].Schema, "properties", "subagent", "enum"))
	require.Contains(t, offered[1].Description, "Finds facts.")

	call := domain.ToolCall{Name: "researcher", Arguments: `{"prompt":"where?"}`}
	spawn, wrong := d.SpawnOf(offered[1], call)
	require.Nil(t, wrong)
	require.Equal(t, domain.Spawn{Subagent: "researcher", Prompt: "where?"}, spawn)
	_, wrong = d.SpawnOf(offered[1], domain.ToolCall{Name: "researcher", Arguments: `{"subagent":"writer"}`})
	require.ErrorContains(t, wrong, "prompt: is empty")
	spawn, _ = d.SpawnOf(offered[1], domain.ToolCall{Arguments: `{"subagent":"writer","prompt":"x"}`})
	require.Equal(t, "researcher", spawn.Subagent, "the tool says who")
	_, wrong = d.SpawnOf(offered[0], domain.ToolCall{Arguments: `{"subagent":"researcher","prompt":"x"}`})
	require.ErrorContains(t, wrong, `there is no "researcher"; there are: writer`, "a rule about its own tool holds")
}

func TestAPolicyAndAgentsAsTools(t *testing.T) {
	t.Parallel()
	agent, other := domain.ToolSpec{Name: "researcher", Subagent: "researcher"}, domain.ToolSpec{Name: "look"}
	for _, test := range []struct {
		policy       domain.SubagentPolicy
		agent, other bool
	}{
		{domain.SubagentPolicy{}, true, true},
		{domain.SubagentPolicy{Allow: []string{"look"}}, true, true},
		{domain.SubagentPolicy{Allow: []string{"read"}}, true, false},
		{domain.SubagentPolicy{Deny: []string{"researcher"}}, false, true},
		{domain.SubagentPolicy{Deny: []string{domain.SpawnSubagent}}, false, true},
	} {
		require.Equal(t, test.agent, test.policy.Permits(agent), test.policy)
		require.Equal(t, test.other, test.policy.Permits(other), test.policy)
	}
}

func TestAgentsThatCannotBeTools(t *testing.T) {
	t.Parallel()
	as := func(agent string) domain.Subagent {
		return domain.Subagent{Agent: agent, AsTool: true, Description: "Helps."}
	}
	for name, test := range map[string]struct {
		change func(*domain.Definition)
		says   string
	}{
		"fine":       {func(*domain.Definition) {}, ""},
		"a server's": {func(d *domain.Definition) { d.Subagents["shop__buy"] = as("a") }, "agents.shop__buy: has the name of a tool of an MCP server shop"},
		"one of all of a server's": {func(d *domain.Definition) {
			d.Tools, d.Subagents = []string{domain.AllToolsOf("shop")}, map[string]domain.Subagent{"shop__buy": as("a")}
		}, "agents.shop__buy: has the name of a tool of an MCP server"},
		"no text": {func(d *domain.Definition) {
			d.Subagents["a"] = domain.Subagent{Agent: "a", AsTool: true, Description: " \n"}
		}, "agents.a: has no description"},
		"a tool from above": {func(d *domain.Definition) {
			d.Subagents["b"] = domain.Subagent{Agent: "b", InheritsTools: true}
			d.Agents["b"] = domain.Definition{Subagents: map[string]domain.Subagent{"look": as("c")}}
		}, "subagents: b: agents.look: has the name of one of the agent's tools"},
		"a tool from above that above": {func(d *domain.Definition) {
			d.Subagents["b"] = domain.Subagent{Agent: "b", InheritsTools: true}
			d.Agents["b"] = domain.Definition{Subagents: map[string]domain.Subagent{"c": {Agent: "c", InheritsTools: true}}}
			d.Agents["c"] = domain.Definition{Subagents: map[string]domain.Subagent{"look": as("a")}}
		}, "subagents: c: agents.look: has the name of one of the agent's tools"},
		"tools of its own": {func(d *domain.Definition) {
			d.Agents["b"] = domain.Definition{Tools: []string{"pay"}, Subagents: map[string]domain.Subagent{"look": as("c")}}
		}, ""},
		"a ring": {func(d *domain.Definition) {
			d.Agents["b"] = domain.Definition{Subagents: map[string]domain.Subagent{"c": as("c")}}
			d.Agents["c"] = domain.Definition{Subagents: map[string]domain.Subagent{"b": as("b")}}
		}, "agents.b: leads back to where it began (b, c, b)"},
		"itself": {func(d *domain.Definition) {
			d.Agents["b"] = domain.Definition{Subagents: map[string]domain.Subagent{"b": as("b")}}
		}, "agents.b: leads back to where it began (b, b)"},
		"a ring with one that is no tool": {func(d *domain.Definition) {
			d.Agents["b"] = domain.Definition{Subagents: map[string]domain.Subagent{"c": as("c")}}
			d.Agents["c"] = domain.Definition{Subagents: map[string]domain.Subagent{"b": {Agent: "b"}}}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := domain.Definition{
				Model: sampleConfig(), Tools: []string{"look"},
				Subagents: map[string]domain.Subagent{"a": as("a"), "b": as("b")},
				Agents:    map[string]domain.Definition{"a": {}, "b": {Tools: []string{"pay"}}, "c": {}},
			}
			d.Model.Price = nil
			test.change(&d)
			err := d.Check()
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.says)
		})
	}
}

// TestManyWaysLeadNowhere: agents that each name all those after them are looked at once.
func TestManyWaysLeadNowhere(t *testing.T) {
	t.Parallel()
	d := domain.Definition{Model: sampleConfig(), Subagents: map[string]domain.Subagent{}, Agents: map[string]domain.Definition{}}
	d.Model.Price = nil
	const n = 40
	below := map[string]domain.Subagent{}
	for i := n; i >= 0; i-- {
		name := fmt.Sprintf("a%d", i)
		own := map[string]domain.Subagent{}
		for key, sub := range below {
			own[key] = sub
		}
		d.Agents[name] = domain.Definition{Subagents: own}
		below[name] = domain.Subagent{Agent: name, AsTool: true, Description: "x"}
	}
	d.Subagents = below
	require.NoError(t, d.Check())
}

// jsonAt is the JSON at a place of another.
func jsonAt(t *testing.T, raw json.RawMessage, keys ...string) string {
	t.Helper()
	for _, key := range keys {
		var object map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(raw, &object))
		raw = object[key]
	}
	return string(raw)
}
