package activities

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"

	"everstep/domain"
)

// compiled is what the model is shown of entries, by the definition's compiler.
func (c *modelCall) compiled(ctx context.Context, definition domain.Definition, entries []domain.Entry) ([]domain.Message, error) {
	if definition.Compiler.Builtin() {
		chain := append([]domain.ExecutionID{c.request.ExecutionID}, c.request.Origins...)
		return domain.CompileEdited(definition.Compiler, definition.Sections, entries, chain, c.request.Edits), nil
	}
	if err := c.activities.checkCompiler(definition.Compiler); err != nil {
		return nil, err
	}
	messages, err := c.activities.config.Compilers[string(definition.Compiler)].run(ctx, definition.Compiler, summaryFirst(c.request.Edits.Apply(entries)))
	return paired(messages), err
}

// ask puts what the model is shown of entries into the call. The default compiler's choice is kept for the next inference, which
// compiles what is new.
func (c *modelCall) ask(ctx context.Context, definition domain.Definition, entries []domain.Entry) (err error) {
	own := func(messages []domain.Message) []domain.Message { return ownReasoning(messages, definition.Model) }
	if definition.Compiler.OrDefault() != domain.WholeConversation {
		c.call.Messages, err = c.compiled(ctx, definition, entries)
		c.call.Messages = own(c.call.Messages)
		return err
	}
	cache, agent := c.activities.config.Transcripts.Cache, c.info.WorkflowExecution.ID
	compiled := cache.SwapCompiled(agent, domain.Compiled{}).Extend(string(reasoner(definition.Model)), entries, c.request.Edits, own)
	cache.SwapCompiled(agent, compiled)
	c.call.Messages, c.call.MessageTokens, c.shared = compiled.Messages(), compiled.Tokens(), true
	return nil
}

// putMessage puts a message in the place of one of the call's. Messages that later inferences have too are copied first.
func (c *modelCall) putMessage(i int, m domain.Message) {
	if c.shared {
		c.call.Messages, c.shared = slices.Clone(c.call.Messages), false
	}
	c.call.Messages[i], c.call.MessageTokens = m, 0
}

// run compiles. A compiler that panics has failed for good: it would again.
func (c Compiler) run(ctx context.Context, name domain.Compiler, entries []domain.Entry) (messages []domain.Message, err error) {
	defer func() {
		if p := recover(); p != nil {
			logPanic(ctx, "compiler", p, "compiler", name)
			messages, err = nil, domain.Invalidf("compiler: %q panicked; the worker's log says where", name)
		}
	}()
	return c(entries), nil
}

// summaryFirst returns a copy in which the summary comes first.
func summaryFirst(entries []domain.Entry) []domain.Entry {
	rank := func(e domain.Entry) int {
		if e.Section == domain.SectionSummary {
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(entries), func(a, b domain.Entry) int { return rank(a) - rank(b) })
}

// paired repairs what a worker's own compiler chose, since no provider takes a
// call that is parted from its result: results that come before the next message
// of the model move to their calls, and what has no counterpart is left out.
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

// appendTurn appends a message, its results, and then what else came after it.
func appendTurn(right []domain.Message, turn []domain.Message) []domain.Message {
	used := make([]bool, len(turn))
	said := turn[0]
	if said.Role == domain.RoleAssistant {
		used[0] = true
		said.ToolCalls = slices.DeleteFunc(slices.Clone(said.ToolCalls), func(call domain.ToolCall) bool {
			return !answer(call, turn, used)
		})
		if len(said.Parts) > 0 || len(said.ToolCalls) > 0 {
			right = append(right, said)
		}
	}
	for _, results := range []bool{true, false} {
		for i, m := range turn {
			if isResult := m.Role == domain.RoleTool; results == isResult && used[i] == isResult {
				right = append(right, m)
			}
		}
	}
	return right
}

// answer finds a call's result among those that are not used yet, and uses it.
func answer(call domain.ToolCall, turn []domain.Message, used []bool) bool {
	for i, m := range turn {
		if r := m.ToolResult; m.Role == domain.RoleTool && r != nil && !used[i] && r.CallID == call.ID {
			used[i] = true
			return true
		}
	}
	return false
}

// keyReasoner is the key, in an answer's metadata, of the model that alone can
// read what is kept of its reasoning. It is recorded.
const keyReasoner = "reasoner"

// reasoner names a model, and the server where a definition names one.
func reasoner(config domain.LLMConfig) json.RawMessage {
	name := config.Provider + "/" + config.Model
	if u, err := url.Parse(config.BaseURL); err == nil && u.Host != "" {
		name += " at " + u.Host
	}
	text, _ := json.Marshal(domain.Shorten(name, maxWord)) // a string cannot fail
	return text
}

// withReasoner notes which model an answer is from, where something in it is of
// use to that model only: signatures, and what is encrypted.
func withReasoner(m domain.Message, config domain.LLMConfig) domain.Message {
	if !slices.ContainsFunc(m.Parts, func(p domain.Part) bool { return p.Signature != "" || len(p.Opaque) > 0 }) {
		return m
	}
	notes := make(domain.Metadata)
	maps.Copy(notes, m.Metadata)
	notes[keyReasoner] = reasoner(config)
	m.Metadata = notes
	return m
}

// ownReasoning leaves out the reasoning of other models than the one that is
// asked, and what had nothing else: providers refuse what they cannot verify, and messages
// without content. An answer that does not say which model it is from is left to the
// provider. The messages are the call's own; their parts are the transcript's and stay as
// they are.
func ownReasoning(messages []domain.Message, config domain.LLMConfig) []domain.Message {
	asked := string(reasoner(config))
	reasons := func(p domain.Part) bool { return p.Type == domain.PartReasoning }
	for i := range messages {
		m := &messages[i]
		if !slices.ContainsFunc(m.Parts, reasons) { // a look at the metadata of each would take longer than all else
			continue
		}
		if by, noted := m.Metadata[keyReasoner]; noted && string(by) != asked {
			m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), reasons)
		}
	}
	return slices.DeleteFunc(messages, func(m domain.Message) bool {
		return m.Role == domain.RoleAssistant && len(m.Parts)+len(m.ToolCalls) == 0
	})
}
