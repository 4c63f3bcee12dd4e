package scripted

import (
	"fmt"
	"slices"

	"everstep/activities/inference"
	"everstep/domain"
)

// CheckFormat takes every format: a script answers what its file says.
func (p *Provider) CheckFormat(domain.LLMConfig, domain.ResponseFormat, bool) error { return nil }

// formatted makes a turn's JSON what a model would make of it: a call of the
// tool that stands for the response format, where there is one, else the text.
func (t turn) formatted(call inference.Call, text string, calls []domain.ToolCall) (string, []domain.ToolCall, domain.FinishReason) {
	if t.json == nil || call.OutputTool == "" {
		return text, calls, t.finish
	}
	id := fmt.Sprintf("call_%d_%d", call.Inference, len(calls))
	calls = append(slices.Clip(calls), domain.ToolCall{ID: id, Name: call.OutputTool, Arguments: text})
	finish := t.finish
	if finish == domain.FinishStop {
		finish = domain.FinishToolCalls
	}
	return "", calls, finish
}
