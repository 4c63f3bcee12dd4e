package anthropic

import (
	"encoding/json"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// finish ends the blocks whose end was not told.
func (s *assembly) finish() {
	for _, b := range s.blocks {
		s.end(b)
	}
}

// end keeps what the API wants back of a block. A call whose input did not come
// in pieces has it at its beginning.
func (s *assembly) end(b *block) {
	if b.ended {
		return
	}
	b.ended = true
	switch b.Type {
	case "text":
	case "thinking":
		s.draft.Keep(b.place, string(b.Signature)+b.signed.String(), kept{Thinking: true}.opaque())
	case "tool_use":
		if b.pieces.Len() == 0 {
			s.draft.Call(wire.Piece{Index: b.place, Arguments: string(b.Input)})
		}
	default:
		if raw := b.whole(); raw != nil {
			s.draft.Keep(b.place, "", kept{Block: raw}.opaque())
		}
	}
}

// whole is a block with the input that came in pieces; nil where it cannot be
// told.
func (b *block) whole() json.RawMessage {
	if b.foreign || b.Type == "" {
		return nil
	}
	if b.pieces.Len() == 0 {
		return b.raw
	}
	var fields map[string]json.RawMessage
	input := json.RawMessage(b.pieces.String())
	if !json.Valid(input) || json.Unmarshal(b.raw, &fields) != nil {
		return nil
	}
	fields["input"] = input
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return raw
}

// answer returns the whole answer. Its content decides what it is, before the
// server's word does; but what was refused holds no call that may run.
func (s *assembly) answer() inference.Answer {
	word := string(s.stop.Reason)
	calls := s.draft.Calls()
	finish := finishOf(word, len(calls) > 0)
	switch finish {
	case domain.FinishToolCalls:
		if wire.Cut(calls, s.draft.Usage.OutputTokens, s.bound) {
			finish = domain.FinishLength
		}
	case domain.FinishRefusal:
		if !s.speaks() {
			s.draft.Text(len(s.blocks), string(s.stop.Details.Explanation))
			s.draft.Flush()
		}
		refused := s.draft.Answer(finish, word)
		refused.Message.ToolCalls = nil
		return refused
	case domain.FinishOther:
		if word == Paused {
			s.draft.Keep(len(s.blocks), "", kept{Paused: true}.opaque())
		}
	case domain.FinishStop, domain.FinishLength, domain.FinishContentFilter, domain.FinishError:
	}
	s.place()
	return s.draft.Answer(finish, word)
}

// speaks reports whether the answer has text.
func (s *assembly) speaks() bool {
	for _, b := range s.blocks {
		if strings.TrimSpace(s.draft.TextAt(b.place)) != "" {
			return true
		}
	}
	return false
}

// place notes where calls stood that were not the last of the answer: a message
// has them behind all its parts, and the API wants thinking where it was.
func (s *assembly) place() {
	last := -1
	for _, b := range s.blocks {
		if b.Type != "tool_use" {
			last = b.place
		}
	}
	position := 0
	for _, b := range s.blocks {
		if b.Type != "tool_use" {
			continue
		}
		if position++; b.place < last {
			s.draft.Keep(b.place, "", kept{Call: position}.opaque())
		}
	}
}

// finishOf reads the server's word for why the model stopped.
func finishOf(word string, calls bool) domain.FinishReason {
	switch strings.ToLower(word) {
	case "max_tokens":
		return domain.FinishLength
	case "refusal":
		return domain.FinishRefusal
	case "end_turn", "stop_sequence", "tool_use":
		if calls {
			return domain.FinishToolCalls
		}
		return domain.FinishStop
	}
	if calls {
		return domain.FinishToolCalls
	}
	return domain.FinishOther
}
