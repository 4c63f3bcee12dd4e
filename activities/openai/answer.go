package openai

import (
	"unicode/utf8"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// paragraph stands between the parts of a summary.
const paragraph = "\n\n"

// answer returns the whole answer. Its items decide what it is, before the
// API's word does. Of items of other types nothing is read.
func (s *assembly) answer(bound int64) inference.Answer {
	out := wire.NewDraft(nil)
	out.ID, out.RequestID, out.Model, out.Usage = s.draft.ID, s.draft.RequestID, s.draft.Model, s.draft.Usage
	var refused, cut bool
	last := s.lastPart()
	for k, i := range s.items {
		// A part and the mark before it.
		at, before := 2*k+1, 2*k
		cut = cut || i.Status == statusIncomplete
		switch i.Type {
		case itemMessage:
			for _, c := range i.Content {
				refused = refused || c.Refusal != ""
			}
			if i.Phase != "" && i.stands() {
				out.Keep(before, "", mark{Type: itemMessage, Phase: string(i.Phase)}.json())
			}
			out.Text(at, i.Content.join(""))
		case itemReasoning:
			out.Reasoning(at, i.thoughts())
			if s.followed(k) && i.returnable() && utf8.Valid(i.raw) {
				out.Keep(at, "", i.raw)
			}
		case itemCall:
			if k < last {
				out.Keep(before, "", mark{Type: itemCall}.json())
			}
			id := i.CallID
			if id == "" {
				id = i.ID
			}
			out.Call(wire.Piece{Index: k, ID: string(id), Name: string(i.Name), Arguments: string(i.Arguments)})
		}
	}
	calls := out.Calls()
	cut = cut || s.status == statusIncomplete || wire.Cut(calls, out.Usage.OutputTokens, bound)
	return out.Answer(s.finish(cut, len(calls) > 0, refused), s.reason)
}

// finish says why the model stopped. Nothing that was cut counts as whole,
// whatever cut it.
func (s *assembly) finish(cut, calls, refused bool) domain.FinishReason {
	switch {
	case s.reason == "content_filter":
		return domain.FinishContentFilter
	case cut:
		return domain.FinishLength
	case calls:
		return domain.FinishToolCalls
	case refused:
		return domain.FinishRefusal
	}
	return domain.FinishStop
}

// lastPart is the place of the last item that becomes a part: calls behind it
// need no mark.
func (s *assembly) lastPart() int {
	for k := len(s.items) - 1; k >= 0; k-- {
		if i := s.items[k]; i.Type == itemMessage && i.stands() || i.Type == itemReasoning {
			return k
		}
	}
	return -1
}

// followed reports whether what a reasoning item was for will be sent with it.
func (s *assembly) followed(k int) bool {
	for _, next := range s.items[k+1:] {
		if next.Type != itemReasoning {
			return next.stands()
		}
	}
	return false
}

// stands reports whether an item is sent back.
func (i item) stands() bool {
	return i.Type == itemCall || i.Type == itemMessage && i.Content.join("") != ""
}

// thoughts is what can be read of reasoning.
func (i item) thoughts() string {
	if text := i.Summary.join(paragraph); text != "" {
		return text
	}
	return i.Content.join(paragraph)
}

// usage is what the API reports.
type usage struct {
	Input        wire.Count `json:"input_tokens"`
	Output       wire.Count `json:"output_tokens"`
	Total        wire.Count `json:"total_tokens"`
	InputDetails struct {
		Cached     wire.Count `json:"cached_tokens"`
		CacheWrite wire.Count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (u usage) domain() domain.Usage {
	return wire.Consistent(domain.Usage{
		InputTokens:      int64(u.Input),
		OutputTokens:     int64(u.Output),
		CacheReadTokens:  int64(u.InputDetails.Cached),
		CacheWriteTokens: int64(u.InputDetails.CacheWrite),
		ReasoningTokens:  int64(u.OutputDetails.Reasoning),
	}, int64(u.Total))
}
