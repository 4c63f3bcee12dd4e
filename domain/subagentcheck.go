package domain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// checkSubagents says what is wrong with those that the agent may start, and with all below them.
func (d Definition) checkSubagents() error {
	if err := cmp.Or(d.SubagentPolicy.Check(), d.checkRefers(d.Agents), d.checkAgentTools()); err != nil {
		return err
	}
	for _, key := range sortedKeys(d.Agents) {
		own := d.Agents[key]
		err := cmp.Or(own.SubagentPolicy.Check(), own.checkRefers(d.Agents))
		if err == nil && len(own.Agents) > 0 {
			err = Invalidf("agents: belong to the root alone")
		}
		if err == nil {
			own.Subagents, own.Handoffs, own.Agents, own.SubagentPolicy = nil, nil, nil, SubagentPolicy{}
			if own.Model.Provider == "" {
				own.Model.Provider, own.Model.Model = d.Model.Provider, d.Model.Model
			}
			err = own.Check()
		}
		if err != nil {
			return Invalidf("subagents: %s: %s", Shorten(key, 200), AsError(err).Message)
		}
	}
	if len(d.Agents) == 0 {
		return nil
	}
	return CheckFits("subagents: their definitions", d.Agents, MaxAgents)
}

// checkAgentTools says which sub-agent cannot be a tool of its own, of any of the agents: those with names of others, those
// of which the model would know nothing, and those that lead back to the agent that calls them.
func (d Definition) checkAgentTools() error {
	open := map[string]bool{}
	for _, at := range d.tooled() {
		for _, name := range at.agent.namesOf(true) {
			field, sub := at.field("agents."+name), at.agent.Subagents[name]
			if name == SpawnSubagent {
				return Invalidf("%s: has the name of the tool that starts sub-agents; give it another", field)
			}
			if err := at.checkTool(field, name, name, sub); err != nil {
				return err
			}
			if ring := d.ring(sub.Agent, nil, open); ring != nil {
				return Invalidf("%s: leads back to where it began (%s), as a tool of its own may not; name one of these in subagents, which max_depth bounds",
					field, Shorten(strings.Join(ring, ", "), 500))
			}
		}
		if err := at.checkHandoffs(d.Agents); err != nil {
			return err
		}
	}
	return nil
}

// A tooledAgent is one of the agents with the tools that it has, which may be those of the agent that starts it.
type tooledAgent struct {
	agent Definition
	key   string
	tools []string
	// from is the key of the agent whose tools those are.
	from string
}

func (t tooledAgent) field(name string) string {
	if t.key == "" {
		return name
	}
	return fmt.Sprintf("subagents: %s: %s", Shorten(t.key, 200), name)
}

// checkTool says why another agent cannot be a tool of the agent, of a name that has the agent's own in it.
func (t tooledAgent) checkTool(field, name, tool string, other Subagent) error {
	server, ofServer := ServerOf(name)
	switch {
	case len(tool) > maxSubagentName || strings.Trim(tool, lowerNames+"ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "": // what providers take
		return Invalidf("%s: is no name for a tool; use 1 to %d letters, digits, dashes and underscores", field, maxSubagentName-len(tool)+len(name))
	case ofServer:
		return Invalidf("%s: has the name of a tool of an MCP server %s; give it one without %s", field, Shorten(server, 64), ServerSeparator)
	case slices.Contains(t.tools, tool):
		return Invalidf("%s: has the name of one of the agent's tools; give it another, or leave that out of tools", field)
	case strings.TrimSpace(other.Description) == "":
		return Invalidf("%s: has no description, by which the model chooses it; give it one, there or in the agent's own file", field)
	}
	return nil
}

// named are the agents that the agent names.
func (d Definition) named() (all []Subagent) {
	for _, name := range d.SubagentNames() {
		all = append(all, d.Subagents[name])
	}
	for _, name := range d.HandoffNames() {
		all = append(all, d.Handoffs[name])
	}
	return all
}

// tooled are the agent and all below it, each with all tools that it may come to have.
func (d Definition) tooled() []tooledAgent {
	type had struct{ key, from string }
	seen := map[had]bool{}
	all := []tooledAgent{{agent: d, tools: d.Tools}}
	for i := 0; i < len(all); i++ {
		for _, sub := range all[i].agent.named() {
			own := d.Agents[sub.Agent]
			next := tooledAgent{agent: own, key: sub.Agent, tools: own.Tools, from: sub.Agent}
			if sub.InheritsTools {
				next.tools, next.from = all[i].tools, all[i].from
			}
			if at := (had{next.key, next.from}); !seen[at] {
				seen[at] = true
				all = append(all, next)
			}
		}
	}
	return all
}

// ring is the way on which agents that are tools lead back to one of them; nil: there is none. From those that are known
// to be open none does.
func (d Definition) ring(key string, way []string, open map[string]bool) []string {
	if i := slices.Index(way, key); i >= 0 {
		return append(slices.Clone(way[i:]), key)
	}
	if open[key] {
		return nil
	}
	way = plus(way, key)
	for _, name := range d.Agents[key].namesOf(true) {
		if found := d.ring(d.Agents[key].Subagents[name].Agent, way, open); found != nil {
			return found
		}
	}
	open[key] = true
	return nil
}

// checkRefers says which agent that the agent names is none.
func (d Definition) checkRefers(agents map[string]Definition) error {
	return cmp.Or(checkNamed("subagents", d.Subagents, agents), checkNamed("handoffs", d.Handoffs, agents))
}

func checkNamed(field string, named map[string]Subagent, agents map[string]Definition) error {
	if len(named) > MaxSubagents {
		return Invalidf("%s: are %d; at most %d are allowed", field, len(named), MaxSubagents)
	}
	for _, name := range sortedKeys(named) {
		sub := named[name]
		if CheckAgentName(name) != nil || len(name) > maxSubagentName {
			return Invalidf("%s: %q is no name; use 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first", field, Shorten(name, 64))
		}
		if _, ok := agents[sub.Agent]; !ok {
			return Invalidf("%s.%s: has no definition; give agents one of the key %q", field, name, Shorten(sub.Agent, 200))
		}
		if err := CheckText(field+"."+name+".description", sub.Description, MaxReason); err != nil {
			return err
		}
	}
	return nil
}
