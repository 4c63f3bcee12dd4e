package domain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// MaxHandoffs bounds how often the conversation is handed over in one execution: agents that hand it to and fro come
// to an end, whatever their budget.
const MaxHandoffs = 20

// HandoffTool is the name of the tool that hands the conversation over to an agent. It is recorded.
func HandoffTool(agent string) string { return "transfer_to_" + agent }

// HandoffNames are those of the agents to which the agent may hand its conversation over, in order.
func (d Definition) HandoffNames() []string { return sortedKeys(d.Handoffs) }

// HandoffTools are what hands the conversation over, a tool for each. They only read as far as approvals go: what the
// other agent does is asked about where it does that.
func (d Definition) HandoffTools() (tools []ToolSpec) {
	for _, name := range d.HandoffNames() {
		tools = append(tools, ToolSpec{
			Name: HandoffTool(name), Handoff: name, Effect: ReadOnly, Schema: json.RawMessage(handoffSchema),
			Description: fmt.Sprintf("Hands this conversation over to the agent %s, for good: it sees all of it, and answers in your place from here on. %s",
				name, d.Handoffs[name].Description),
		})
	}
	return tools
}

const handoffSchema = `{"type":"object","properties":{"reason":{"type":"string","description":"why, in a sentence"}},"additionalProperties":false}`

// CheckHandoff says what is wrong with the arguments of a call that hands the conversation over. Models that have nothing
// to say send none.
func CheckHandoff(call ToolCall) *Error {
	var arguments struct {
		Reason string `json:"reason"`
	}
	if text := strings.TrimSpace(call.Arguments); text != "" && json.Unmarshal([]byte(text), &arguments) != nil {
		return CodedErrorf(Invalid, CodeMalformed, "arguments: are no object with the text reason; send them as the tool's schema says")
	}
	return nil
}

// HandsTo is the definition of an agent to which the agent may hand its conversation over: with its own model and tools
// where the other names none. ok is false where it may not.
func (d Definition) HandsTo(name string) (to Definition, ok bool) {
	return d.inheriting(d.Handoffs, name)
}

// checkHandoffs says to whom one of the agents cannot hand its conversation over.
func (t tooledAgent) checkHandoffs(agents map[string]Definition) error {
	for _, name := range t.agent.HandoffNames() {
		sub, field, tool := t.agent.Handoffs[name], t.field("handoffs."+name), HandoffTool(name)
		if slices.Contains(t.tools, tool) || t.agent.Subagents[tool].AsTool {
			return Invalidf("%s: its tool %s has the name of another one of the agent; give one of them another name", field, tool)
		}
		if err := t.checkTool(field, name, tool, sub); err != nil {
			return err
		}
		if to := agents[sub.Agent]; to.Compiler.OrDefault() != t.agent.Compiler.OrDefault() || !slices.Equal(to.Sections, t.agent.Sections) {
			return Invalidf("%s: has another compiler or other sections, but the conversation stays the same; give both agents the same", field)
		}
	}
	return nil
}
