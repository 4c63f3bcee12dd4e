package domain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// functionPrefix is what models put before the name of a tool, and parallelCalls are the names
// of a tool around several that they invent.
const functionPrefix = "functions."

var parallelCalls = []string{"multi_tool_use.parallel", "multi_tool_use_parallel"}

// Wraps reports whether the call has a name that models invent around those of tools.
func (c ToolCall) Wraps() bool {
	return strings.HasPrefix(c.Name, functionPrefix) || slices.Contains(parallelCalls, c.Name)
}

// Direct are the calls that are meant by one that wraps them: the call itself where it does
// not, or where one of the tools does not exist. The first has its id, the others one that
// begins with it.
func (c ToolCall) Direct(exists func(tool string) bool) []ToolCall {
	whole := []ToolCall{c}
	name := strings.TrimPrefix(c.Name, functionPrefix)
	switch {
	case exists(c.Name):
		return whole
	case exists(name):
		whole[0].Name = name
		return whole
	case !slices.Contains(parallelCalls, name):
		return whole
	}
	var wrapped struct {
		Uses []struct {
			Tool      string          `json:"recipient_name"`
			Arguments json.RawMessage `json:"parameters"`
		} `json:"tool_uses"`
	}
	if json.Unmarshal([]byte(c.Arguments), &wrapped) != nil || len(wrapped.Uses) == 0 {
		return whole
	}
	calls := make([]ToolCall, len(wrapped.Uses))
	for k, use := range wrapped.Uses {
		calls[k] = ToolCall{ID: c.ID, Name: strings.TrimPrefix(use.Tool, functionPrefix), Arguments: string(use.Arguments)}
		if k > 0 && c.ID != "" {
			calls[k].ID = fmt.Sprintf("%s_%d", c.ID, k+1)
		}
		var text string
		if json.Unmarshal(use.Arguments, &text) == nil && text != "" {
			calls[k].Arguments = text // quoted once more
		} else if len(use.Arguments) == 0 || string(use.Arguments) == "null" {
			calls[k].Arguments = "{}"
		}
		if !exists(calls[k].Name) {
			return whole
		}
	}
	return calls
}

// CallNames lists up to three names of calls, for a line that people read.
func CallNames(calls []ToolCall) string {
	const shown = 3
	names := make([]string, 0, shown)
	for _, call := range calls[:min(len(calls), shown)] {
		names = append(names, Shorten(call.Name, 64))
	}
	if more := len(calls) - shown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}
