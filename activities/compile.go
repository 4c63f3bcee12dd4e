package activities

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"go.temporal.io/sdk/activity"

	"everstep/domain"
)

// needed is the first message that the edits leave something of.
func needed(edits domain.Edits) int {
	if edits.Summary > 0 {
		return min(edits.Hidden, edits.Summary-1)
	}
	return edits.Hidden
}

// compiled is what the model is shown of entries, by the definition's compiler.
func (c *modelCall) compiled(ctx context.Context, definition domain.Definition, entries []domain.Entry) ([]domain.Message, error) {
	if definition.Compiler.Builtin() {
		chain := append([]domain.ExecutionID{c.request.ExecutionID}, c.request.Origins...)
		return domain.CompileEdited(definition.Compiler, definition.Sections, entries, chain, c.request.Edits), nil
	}
	own, ok := c.activities.config.Compilers[string(definition.Compiler)]
	if !ok || own == nil {
		return nil, domain.Errorf(domain.Invalid, "compiler: this worker has no %q; are all workers of the same version?", definition.Compiler)
	}
	messages, err := own.run(ctx, definition.Compiler, summaryFirst(c.request.Edits.Apply(entries)))
	return paired(messages), err
}

// run compiles. A compiler that panics has failed for good: it would again.
func (c Compiler) run(ctx context.Context, name domain.Compiler, entries []domain.Entry) (messages []domain.Message, err error) {
	defer func() {
		if p := recover(); p != nil {
			activity.GetLogger(ctx).Error("compiler panicked", "compiler", name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			messages, err = nil, domain.Errorf(domain.Invalid, "compiler: %q panicked; the worker's log says where", name)
		}
	}()
	return c(entries), nil
}

// summaryFirst returns a copy of the entries in which the summary comes before
// what it does not sum up.
func summaryFirst(entries []domain.Entry) []domain.Entry {
	ordered := make([]domain.Entry, 0, len(entries))
	for _, first := range []bool{true, false} {
		for _, e := range entries {
			if first == (e.Section == domain.SectionSummary) {
				ordered = append(ordered, e)
			}
		}
	}
	return ordered
}

// paired repairs what a worker's own compiler chose, since no provider takes a
// call that is parted from its result: results that come before the next
// message of the model move to their calls, and what then has no counterpart is
// left out. Messages that were right stay as they are.
func paired(messages []domain.Message) []domain.Message {
	right := make([]domain.Message, 0, len(messages))
	for len(messages) > 0 {
		n := 1 + slices.IndexFunc(messages[1:], func(m domain.Message) bool { return m.Role == domain.RoleAssistant })
		if n == 0 {
			n = len(messages)
		}
		right = appendTurn(right, messages[:n])
		messages = messages[n:]
	}
	return right
}

// appendTurn appends a message, its results, and then what else came before the
// model spoke again.
func appendTurn(right []domain.Message, turn []domain.Message) []domain.Message {
	said := turn[0]
	var calls []domain.ToolCall
	if said.Role == domain.RoleAssistant {
		calls = said.ToolCalls
	}
	answered := make([]bool, len(calls))
	var results, others []domain.Message
	for i, m := range turn {
		switch {
		case m.Role == domain.RoleTool:
			if k := callOf(calls, answered, m.ToolResult); k >= 0 {
				answered[k] = true
				results = append(results, m)
			}
		case i > 0 || m.Role != domain.RoleAssistant:
			others = append(others, m)
		}
	}
	if said.Role == domain.RoleAssistant {
		if slices.Contains(answered, false) {
			said.ToolCalls = only(calls, answered)
		}
		if len(said.Parts) > 0 || len(said.ToolCalls) > 0 {
			right = append(right, said)
		}
	}
	return append(append(right, results...), others...)
}

// callOf finds the call that a result answers, or -1.
func callOf(calls []domain.ToolCall, answered []bool, result *domain.ToolResult) int {
	if result == nil {
		return -1
	}
	for k, call := range calls {
		if !answered[k] && call.ID == result.CallID {
			return k
		}
	}
	return -1
}

func only(calls []domain.ToolCall, answered []bool) []domain.ToolCall {
	var kept []domain.ToolCall
	for k, call := range calls {
		if answered[k] {
			kept = append(kept, call)
		}
	}
	return kept
}
