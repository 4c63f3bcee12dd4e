package domain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// SpawnSubagent is the tool with which an agent starts a sub-agent. It is recorded and must never change.
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

// A Subagent is one that an agent may start with SpawnSubagent.
type Subagent struct {
	// Description tells the model what it is for.
	Description string `json:"description,omitzero"`
	// Agent is the key of its definition in Definition.Agents.
	Agent string `json:"agent"`
	// InheritsTools says that it has the tools of the agent that starts it, in place of its definition's.
	InheritsTools bool `json:"inherits_tools,omitzero"`
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
func (p SubagentPolicy) Depth() int {
	if p.MaxDepth == nil {
		return DefaultMaxDepth
	}
	return *p.MaxDepth
}

// Permits reports whether a sub-agent may have a tool. What starts others is bounded by what is denied alone: its
// definition says which it has.
func (p SubagentPolicy) Permits(tool string) bool {
	return (len(p.Allow) == 0 || tool == SpawnSubagent || NamesTool(p.Allow, tool)) && !NamesTool(p.Deny, tool)
}

// Check says what makes no sense.
func (p SubagentPolicy) Check() error {
	for _, names := range [][]string{p.Allow, p.Deny} {
		if slices.ContainsFunc(names, func(name string) bool { return strings.TrimSpace(name) == "" }) {
			return Errorf(Invalid, "subagent_policy: a name is empty; give the name of a tool")
		}
	}
	if d := p.MaxDepth; d != nil && (*d < 0 || *d > MostDepth) {
		return Errorf(Invalid, "subagent_policy.max_depth: is %d; give 0 to %d", *d, MostDepth)
	}
	return nil
}

// SubagentNames are those of the sub-agents that the agent may start, in order.
func (d Definition) SubagentNames() []string { return slices.Sorted(maps.Keys(d.Subagents)) }

// UsesTools reports whether a model has anything to call.
func (d Definition) UsesTools() bool { return len(d.Tools)+len(d.Subagents) > 0 }

// Subagent is the definition with which one starts that the agent has: by the model and the approvals of the agent where
// its own says none. It has the definitions of all below it, each once. ok is false where there is none of the name.
func (d Definition) Subagent(name string) (child Definition, ok bool) {
	sub, ok := d.Subagents[name]
	if !ok {
		return Definition{}, false
	}
	if child, ok = d.Agents[sub.Agent]; !ok {
		return Definition{}, false
	}
	if sub.InheritsTools {
		child.Tools = d.Tools
	}
	if child.Model.Provider == "" {
		child.Model = d.Model
	}
	if child.Approvals == nil {
		child.Approvals = d.Approvals
	}
	child.Agents = d.below(child)
	return child, true
}

// below are the definitions that an agent's sub-agents have, and theirs in turn. A ring is gone round once.
func (d Definition) below(agent Definition) map[string]Definition {
	var found map[string]Definition
	for next := []Definition{agent}; len(next) > 0; next = next[1:] {
		for _, name := range next[0].SubagentNames() {
			key := next[0].Subagents[name].Agent
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

// SpawnTool is what the model of the agent knows of SpawnSubagent. It only reads as far as approvals go: what a
// sub-agent does is asked about where that does it.
func (d Definition) SpawnTool() ToolSpec {
	names := d.SubagentNames()
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
		`"prompt":{"type":"string","description":"all that it needs to know, and what it is to answer"}},"required":["subagent","prompt"],"additionalProperties":false}`, listed)
	return ToolSpec{Name: SpawnSubagent, Description: about.String(), Schema: json.RawMessage(schema), Effect: ReadOnly}
}

// A Spawn are the arguments of SpawnSubagent.
type Spawn struct {
	Subagent string `json:"subagent"`
	Prompt   string `json:"prompt"`
}

// SpawnOf reads the arguments of a call of SpawnSubagent, or says what is wrong with them.
func (d Definition) SpawnOf(call ToolCall) (spawn Spawn, _ *Error) {
	if err := json.Unmarshal([]byte(call.Arguments), &spawn); err != nil {
		return spawn, CodedErrorf(Invalid, CodeMalformed, "arguments: are no object with the texts subagent and prompt; send them as the tool's schema says")
	}
	if _, ok := d.Subagents[spawn.Subagent]; !ok {
		return spawn, CodedErrorf(Invalid, CodeMalformed, "subagent: there is no %q; there are: %s",
			Shorten(spawn.Subagent, 64), Shorten(strings.Join(d.SubagentNames(), ", "), 1000))
	}
	if err := CheckPrompt(spawn.Prompt); err != nil {
		return spawn, CodedErrorf(Invalid, CodeMalformed, "%s", AsError(err).Message)
	}
	return spawn, nil
}

// Subagent derives the identity of the sub-agent that the call starts.
func (id ToolExecutionID) Subagent() AgentID {
	return AgentID{uuid.NewSHA1(id.UUID, []byte("subagent"))}
}

// checkSubagents says what is wrong with those that the agent may start, and with all below them.
func (d Definition) checkSubagents() error {
	if err := d.SubagentPolicy.Check(); err != nil {
		return err
	}
	if err := d.checkRefers(d.Agents); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(d.Agents)) {
		own := d.Agents[key]
		err := cmp.Or(own.SubagentPolicy.Check(), own.checkRefers(d.Agents))
		if err == nil && len(own.Agents) > 0 {
			err = Errorf(Invalid, "agents: belong to the root alone")
		}
		if err == nil {
			own.Subagents, own.Agents, own.SubagentPolicy = nil, nil, SubagentPolicy{}
			if own.Model.Provider == "" {
				own.Model.Provider, own.Model.Model = d.Model.Provider, d.Model.Model
			}
			err = own.Check()
		}
		if err != nil {
			return Errorf(Invalid, "subagents: %s: %s", Shorten(key, 200), AsError(err).Message)
		}
	}
	if len(d.Agents) == 0 {
		return nil
	}
	return CheckFits("subagents: their definitions", d.Agents, MaxAgents)
}

// checkRefers says which sub-agent of the agent is none.
func (d Definition) checkRefers(agents map[string]Definition) error {
	if len(d.Subagents) > MaxSubagents {
		return Errorf(Invalid, "subagents: are %d; at most %d are allowed", len(d.Subagents), MaxSubagents)
	}
	for _, name := range d.SubagentNames() {
		sub := d.Subagents[name]
		if CheckAgentName(name) != nil || len(name) > maxSubagentName {
			return Errorf(Invalid, "subagents: %q is no name; use 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first", Shorten(name, 64))
		}
		if _, ok := agents[sub.Agent]; !ok {
			return Errorf(Invalid, "subagents.%s: has no definition; give agents one of the key %q", name, Shorten(sub.Agent, 200))
		}
		if err := checkText("subagents."+name+".description", sub.Description, MaxReason); err != nil {
			return err
		}
	}
	return nil
}
