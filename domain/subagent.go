package domain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// SpawnSubagent is the tool with which an agent starts a sub-agent. It is recorded.
const SpawnSubagent = "spawn_subagent"

const (
	// DefaultMaxDepth is how deep sub-agents may be where no policy says it: the root's are at 1.
	DefaultMaxDepth = 3
	// MostDepth bounds what a policy may allow.
	MostDepth = 10
	// MaxSubagents bounds how many an agent may choose from.
	MaxSubagents = 50
	// MaxAgents bounds their definitions together, in bytes: each sub-agent starts with those below it.
	MaxAgents = 128 << 10
	// maxSubagentName is the longest name of one, in bytes.
	maxSubagentName = 64
	// MaxAtOnce is how many sub-agents of one step run at a time. The others wait for their turns.
	MaxAtOnce = 16
)

// A Subagent is one that an agent may start, with SpawnSubagent or with a tool of its own, or hand its conversation over to.
type Subagent struct {
	// Description tells the model what it is for.
	Description string `json:"description,omitzero"`
	// Agent is the key of its definition in Definition.Agents.
	Agent string `json:"agent"`
	// InheritsTools says that it has the tools of the agent that names it, in place of its definition's.
	InheritsTools bool `json:"inherits_tools,omitzero"`
	// AsTool offers it as a tool of its own, by its name, in place of SpawnSubagent. It needs a description.
	AsTool bool `json:"as_tool,omitzero"`
}

// A SubagentPolicy bounds the sub-agents of an agent, and theirs in turn: none gets more than all the agents above it
// allow. The zero value bounds their depth alone.
type SubagentPolicy struct {
	// Allow are the tools that they may have; empty: any.
	Allow []string `json:"allow,omitempty"`
	// Deny are those that they have not, even if they are allowed. With SpawnSubagent they start none themselves.
	Deny []string `json:"deny,omitempty"`
	// MaxDepth is how deep they may be, counted from the root, which is at 0. Absent: DefaultMaxDepth.
	MaxDepth *int `json:"max_depth,omitempty"`
}

// IsZero reports whether nothing is set.
func (p SubagentPolicy) IsZero() bool { return len(p.Allow)+len(p.Deny) == 0 && p.MaxDepth == nil }

// Depth is how deep sub-agents may be.
func (p SubagentPolicy) Depth() int { return *cmp.Or(p.MaxDepth, new(DefaultMaxDepth)) }

// Permits reports whether a sub-agent may have a tool. What starts others is bounded by what is denied alone, SpawnSubagent
// standing for all of it, as is what hands a conversation over: its definition says which it has.
func (p SubagentPolicy) Permits(tool ToolSpec) bool {
	if tool.Handoff != "" {
		return !NamesTool(p.Deny, tool.Name)
	}
	if tool.Spawns() {
		return !NamesTool(p.Deny, SpawnSubagent) && !NamesTool(p.Deny, tool.Name)
	}
	return (len(p.Allow) == 0 || NamesTool(p.Allow, tool.Name)) && !NamesTool(p.Deny, tool.Name)
}

// Check says what makes no sense.
func (p SubagentPolicy) Check() error {
	if slices.ContainsFunc(slices.Concat(p.Allow, p.Deny), func(name string) bool { return strings.TrimSpace(name) == "" }) {
		return Invalidf("subagent_policy: a name is empty; give the name of a tool")
	}
	if d := p.MaxDepth; d != nil && (*d < 0 || *d > MostDepth) {
		return Invalidf("subagent_policy.max_depth: is %d; give 0 to %d", *d, MostDepth)
	}
	return nil
}

// SubagentNames are those of all sub-agents that the agent may start, in order.
func (d Definition) SubagentNames() []string { return sortedKeys(d.Subagents) }

// namesOf are those of its sub-agents that are tools of their own, or of the others.
func (d Definition) namesOf(asTool bool) []string {
	return slices.DeleteFunc(d.SubagentNames(), func(name string) bool { return d.Subagents[name].AsTool != asTool })
}

// UsesTools reports whether a model has anything to call.
func (d Definition) UsesTools() bool { return len(d.Tools)+len(d.Subagents)+len(d.Handoffs) > 0 }

// Subagent returns the definition with which the sub-agent of a name is started. What its own leaves open it has of this agent:
// the model, the approvals, and the tools where it InheritsTools. Its Agents are those that it may start or hand over to, and
// theirs in turn, each once. ok is false where there is no such name, or no definition of it.
func (d Definition) Subagent(name string) (child Definition, ok bool) {
	if child, ok = d.inheriting(d.Subagents, name); ok && child.Approvals == nil {
		child.Approvals = d.Approvals
	}
	return child, ok
}

// inheriting is the definition of another agent that this one has: with its own model and tools where that names none.
func (d Definition) inheriting(named map[string]Subagent, name string) (Definition, bool) {
	sub, known := named[name]
	other, ok := d.Agents[sub.Agent]
	if !known || !ok {
		return Definition{}, false
	}
	if sub.InheritsTools {
		other.Tools = d.Tools
	}
	if other.Model.Provider == "" {
		other.Model = d.Model
	}
	other.Agents = d.below(other)
	return other, true
}

// below are the definitions of the agents that an agent names, and of those that they do. A ring is gone round once.
func (d Definition) below(agent Definition) map[string]Definition {
	var found map[string]Definition
	for next := []Definition{agent}; len(next) > 0; next = next[1:] {
		for _, sub := range next[0].named() {
			key := sub.Agent
			definition, ok := d.Agents[key]
			if _, seen := found[key]; seen || !ok {
				continue
			}
			if found == nil {
				found = map[string]Definition{}
			}
			found[key] = definition
			next = append(next, definition)
		}
	}
	return found
}

// SpawnTools are what starts the sub-agents of the agent: SpawnSubagent, and those of them that are tools of their own. They
// only read as far as approvals go: what a sub-agent does is asked about where that does it.
func (d Definition) SpawnTools() (tools []ToolSpec) {
	if names := d.namesOf(false); len(names) > 0 {
		tools = append(tools, d.spawnTool(names))
	}
	for _, name := range d.namesOf(true) {
		tools = append(tools, ToolSpec{
			Name: name, Effect: ReadOnly, Subagent: name, Schema: json.RawMessage(agentSchema),
			Description: d.Subagents[name].Description + "\n(An agent, which works on a prompt of its own and knows nothing of this conversation. " +
				"Several calls in one turn run side by side.)",
		})
	}
	return tools
}

const (
	agentPrompt = `"prompt":{"type":"string","description":"all that it needs to know, and what it is to answer"}`
	agentSchema = `{"type":"object","properties":{` + agentPrompt + `},"required":["prompt"],"additionalProperties":false}`
)

// spawnTool is what the model of the agent knows of SpawnSubagent, which starts the sub-agents of these names.
func (d Definition) spawnTool(names []string) ToolSpec {
	var about strings.Builder
	about.WriteString("Starts a sub-agent, which works on a prompt of its own and knows nothing of this conversation, and waits for its " +
		"answer. Several calls in one turn run side by side. The sub-agents are:")
	for _, name := range names {
		fmt.Fprintf(&about, "\n- %s", name)
		if description := d.Subagents[name].Description; description != "" {
			about.WriteString(": " + description)
		}
	}
	listed, _ := json.Marshal(names) // names cannot fail
	schema := fmt.Sprintf(`{"type":"object","properties":{"subagent":{"type":"string","enum":%s,"description":"which sub-agent"},`+
		agentPrompt+`},"required":["subagent","prompt"],"additionalProperties":false}`, listed)
	return ToolSpec{Name: SpawnSubagent, Description: about.String(), Schema: json.RawMessage(schema), Effect: ReadOnly}
}

// A Spawn are the arguments of SpawnSubagent. A sub-agent that is a tool of its own is named by the tool.
type Spawn struct {
	Subagent string `json:"subagent,omitempty"`
	Prompt   string `json:"prompt"`
}

// Spawns reports whether a call of the tool starts a sub-agent.
func (s ToolSpec) Spawns() bool { return s.Name == SpawnSubagent || s.Subagent != "" }

// Starts reports whether a tool of the name starts sub-agents of the agent where it is offered.
func (d Definition) Starts(name string) bool {
	return name == SpawnSubagent && len(d.Subagents) > 0 || d.Subagents[name].AsTool
}

// SpawnOf reads the arguments of a call of a tool that starts sub-agents, or says what is wrong with them.
func (d Definition) SpawnOf(tool ToolSpec, call ToolCall) (spawn Spawn, _ *Error) {
	err, wanted := json.Unmarshal([]byte(call.Arguments), &spawn), "the texts subagent and prompt"
	if tool.Subagent != "" {
		spawn.Subagent, wanted = tool.Subagent, "the text prompt"
	}
	if err != nil {
		return spawn, CodedErrorf(Invalid, CodeMalformed, "arguments: are no object with %s; send them as the tool's schema says", wanted)
	}
	if sub, ok := d.Subagents[spawn.Subagent]; !ok || sub.AsTool && tool.Subagent == "" {
		return spawn, CodedErrorf(Invalid, CodeMalformed, "subagent: there is no %q; there are: %s",
			Shorten(spawn.Subagent, 64), Shorten(strings.Join(d.namesOf(false), ", "), 1000))
	}
	if err := CheckPrompt(spawn.Prompt); err != nil {
		return spawn, CodedErrorf(Invalid, CodeMalformed, "%s", AsError(err).Message)
	}
	return spawn, nil
}

// Subagent derives the identity of the sub-agent that the call starts.
func (id ToolExecutionID) Subagent() AgentID {
	return AgentID{derived(id.UUID, "subagent")}
}
