package openaichat

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"everstep/activities/inference"
	"everstep/domain"
)

// answer returns the whole answer. Its content decides what it is, before the
// server's word does.
func (s *assembly) answer() (inference.Answer, error) {
	calls := s.calls.done()
	text, refused := s.body.String(), false
	if strings.TrimSpace(text) == "" && s.refusal.Len() > 0 && len(calls) == 0 {
		text, refused = s.refusal.String(), true
	}
	finish := finishOf(s.finish, len(calls) > 0, refused)
	if finish == domain.FinishToolCalls && s.cut(calls) {
		finish = domain.FinishLength
	}
	return inference.Answer{
		Message:  inference.AssistantMessage(s.reasoning(), text, calls),
		Response: s.response(finish),
	}, nil
}

// partial returns what had come of an answer that was cut off.
func (s *assembly) partial() inference.Answer {
	return inference.Answer{
		Message:  inference.PartialMessage(s.thinking.String(), s.body.String()+s.refusal.String()),
		Response: s.response(""),
		Partial:  true,
	}
}

func (s *assembly) response(finish domain.FinishReason) domain.Response {
	r := domain.Response{ID: s.id, Model: s.model, Finish: finish, Usage: s.usage}
	if finish != "" && s.finish != string(finish) {
		r.FinishWord = s.finish
	}
	return r
}

// reasoning is the model's thinking with what the server wants back: the field
// in which it came, or its details as they came.
func (s *assembly) reasoning() []domain.Part {
	if s.thinking.Len() == 0 && len(s.details) == 0 {
		return nil
	}
	part := domain.Part{Type: domain.PartReasoning, Text: s.thinking.String(), Signature: s.thought}
	if len(s.details) > 0 {
		part.Opaque = slices.Concat([]byte("["), bytes.Join(s.details, []byte(",")), []byte("]"))
	}
	return []domain.Part{part}
}

// cut reports whether the token limit cut the last call, though the server
// says otherwise.
func (s *assembly) cut(calls []domain.ToolCall) bool {
	bound := s.attempt.call.MaxOutputTokens
	if bound <= 0 || s.usage.OutputTokens < bound {
		return false
	}
	return !json.Valid([]byte(calls[len(calls)-1].Arguments))
}

// finishOf reads the server's word for why the model stopped.
func finishOf(word string, calls, refused bool) domain.FinishReason {
	switch strings.ToLower(word) {
	case "length", "max_tokens", "model_length", "model_context_window_exceeded":
		return domain.FinishLength
	case "content_filter":
		return domain.FinishContentFilter
	case "refusal":
		return domain.FinishRefusal
	case "stop", "tool_calls", "function_call", "tool_use", "eos", "end_turn", "stop_sequence", unnamed:
		switch {
		case calls:
			return domain.FinishToolCalls
		case refused:
			return domain.FinishRefusal
		}
		return domain.FinishStop
	}
	if calls {
		return domain.FinishToolCalls
	}
	return domain.FinishOther
}
