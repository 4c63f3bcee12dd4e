package inference

import (
	"strings"

	"everstep/domain"
)

// AssistantMessage returns a model's message of the parts that are not empty.
// What is not valid UTF-8 is replaced, since it could not be recorded as it is.
func AssistantMessage(reasoning []domain.Part, text string, calls []domain.ToolCall) domain.Message {
	m := domain.Message{Role: domain.RoleAssistant}
	for _, p := range reasoning {
		p.Text = clean(p.Text)
		m.Parts = append(m.Parts, p)
	}
	if text != "" {
		m.Parts = append(m.Parts, domain.Part{Type: domain.PartText, Text: clean(text)})
	}
	for _, c := range calls {
		m.ToolCalls = append(m.ToolCalls, domain.ToolCall{ID: clean(c.ID), Name: clean(c.Name), Arguments: clean(c.Arguments)})
	}
	return m
}

// PartialMessage returns the message of an answer that was cut off. Calls are
// left out, since none of them may run, and so is whatever a provider wants
// back with its reasoning, which is only good when whole.
func PartialMessage(reasoning, text string) domain.Message {
	var parts []domain.Part
	if reasoning != "" {
		parts = []domain.Part{{Type: domain.PartReasoning, Text: reasoning}}
	}
	return AssistantMessage(parts, text, nil)
}

// clean replaces what is not UTF-8.
func clean(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// InputTokens estimates what the call's request takes.
func (c Call) InputTokens() int64 {
	tokens := domain.EstimateText(c.System)
	if c.OutputMode == domain.OutputNative {
		tokens += int64(len(c.Format.Schema)+3) / 4
	}
	for _, m := range c.Messages {
		tokens += domain.EstimateTokens(m)
	}
	for _, t := range c.Tools {
		tokens += domain.EstimateText(t.Name) + domain.EstimateText(t.Description) + int64(len(t.Schema)+3)/4
	}
	return tokens
}

// OutputTokens estimates what a message took to write.
func OutputTokens(m domain.Message) int64 {
	if len(m.Parts) == 0 && len(m.ToolCalls) == 0 {
		return 0
	}
	return domain.EstimateTokens(m)
}

// Reckon completes a usage that the provider reported in part or not at all:
// unknown is not zero. What it fills in makes it estimated.
func (c Call) Reckon(reported domain.Usage, m domain.Message) domain.Usage {
	usage := reported
	if usage.Estimated && usage.TotalTokens() == 0 {
		return usage // somebody has estimated it, at nothing
	}
	if usage.InputTokens == 0 {
		usage.InputTokens, usage.Estimated = c.InputTokens(), true
	}
	if usage.OutputTokens == 0 && OutputTokens(m) > 0 {
		usage.OutputTokens, usage.Estimated = OutputTokens(m), true
	}
	return usage
}
