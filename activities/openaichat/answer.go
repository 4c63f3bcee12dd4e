package openaichat

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// answer returns the whole answer. Its content decides what it is, before the
// server's word does.
func (s *assembly) answer() inference.Answer {
	calls := s.draft.Calls()
	refused := len(calls) == 0 && s.draft.TextAt(atRefusal) != "" && strings.TrimSpace(s.draft.TextAt(atText)) == ""
	if refused {
		s.draft.DropText(atText)
	} else {
		s.draft.DropText(atRefusal)
	}
	if s.thought != "" || len(s.details) > 0 {
		s.draft.Keep(atReasoning, s.thought, s.reasoningDetails())
	}
	finish := finishOf(s.finish, len(calls) > 0, refused)
	if finish == domain.FinishToolCalls && wire.Cut(calls, s.draft.Usage.OutputTokens, s.bound) {
		finish = domain.FinishLength
	}
	return s.draft.Answer(finish, s.finish)
}

// reasoningDetails are the details of the model's thinking as they came, all
// in one list. Nil: there are none.
func (s *assembly) reasoningDetails() json.RawMessage {
	if len(s.details) == 0 {
		return nil
	}
	return slices.Concat([]byte("["), bytes.Join(s.details, []byte(",")), []byte("]"))
}

// finishOf reads the server's word for why the model stopped.
func finishOf(word string, calls, refused bool) domain.FinishReason {
	switch strings.ToLower(word) {
	case "length", "max_tokens", "model_length":
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
