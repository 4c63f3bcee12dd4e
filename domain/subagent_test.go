package domain_test

import (
	"encoding/json"
	"fmt"
	"regexp"
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

	d.Agents = map[string]domain.Definition{"": {}}
	for _, named := range []func(string) (domain.Definition, bool){d.Subagent, d.HandsTo} {
		_, ok := named("nobody")
		require.False(t, ok, "a name that is not there is that of no definition without a key")
	}
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
	// AS(x) is agent x, as a tool.
	for name, test := range map[string]struct{ change, says string }{
		"fine":                     {`{}`, ""},
		"a server's":               {`{"subagents":{"shop__buy":AS(a)}}`, "agents.shop__buy: has the name of a tool of an MCP server shop"},
		"one of all of a server's": {`{"tools":["shop__*"],"subagents":{"shop__buy":AS(a)}}`, "agents.shop__buy: has the name of a tool of an MCP server"},
		"no text":                  {`{"subagents":{"a":{"agent":"a","as_tool":true,"description":" \n"}}}`, "agents.a: has no description"},
		"a tool from above": {`{"subagents":{"b":{"agent":"b","inherits_tools":true}},"agents":{"b":{"subagents":{"look":AS(c)}}}}`,
			"subagents: b: agents.look: has the name of one of the agent's tools"},
		"a tool from above that above": {`{"subagents":{"b":{"agent":"b","inherits_tools":true}},
			"agents":{"b":{"subagents":{"c":{"agent":"c","inherits_tools":true}}},"c":{"subagents":{"look":AS(a)}}}}`,
			"subagents: c: agents.look: has the name of one of the agent's tools"},
		"tools of its own":                {`{"agents":{"b":{"tools":["pay"],"subagents":{"look":AS(c)}}}}`, ""},
		"a ring":                          {`{"agents":{"b":{"subagents":{"c":AS(c)}},"c":{"subagents":{"b":AS(b)}}}}`, "agents.b: leads back to where it began (b, c, b)"},
		"itself":                          {`{"agents":{"b":{"subagents":{"b":AS(b)}}}}`, "agents.b: leads back to where it began (b, b)"},
		"a ring with one that is no tool": {`{"agents":{"b":{"subagents":{"c":AS(c)}},"c":{"subagents":{"b":{"agent":"b"}}}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := domain.Definition{Model: sampleConfig()}
			d.Model.Price = nil
			for _, text := range []string{`{"tools":["look"],"subagents":{"a":AS(a),"b":AS(b)},"agents":{"a":{},"b":{"tools":["pay"]},"c":{}}}`, test.change} {
				text = regexp.MustCompile(`AS\((.)\)`).ReplaceAllString(text, `{"agent":"$1","as_tool":true,"description":"Helps."}`)
				require.NoError(t, json.Unmarshal([]byte(text), &d))
			}
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
