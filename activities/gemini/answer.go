package gemini

import (
	"google.golang.org/genai"

	"everstep/activities/inference"
	"everstep/domain"
)

// answer returns the whole answer. Its content decides what it is, before the
// server's word does.
func (s *assembly) answer() inference.Answer {
	finish := s.finishReason()
	answer := s.draft.Answer(finish, s.finish)
	if finish == domain.FinishContentFilter {
		// What a filter has cut is not acted upon.
		answer.Message.ToolCalls = nil
		return answer
	}
	if m, err := keep(answer.Message, s.pieces); err == nil {
		answer.Message = m
	}
	return answer
}

// finishReason reads the server's word for why the model stopped.
func (s *assembly) finishReason() domain.FinishReason {
	if s.blocked {
		return domain.FinishContentFilter
	}
	switch genai.FinishReason(s.finish) {
	case genai.FinishReasonMaxTokens, genai.FinishReasonContinuation:
		return domain.FinishLength
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent, genai.FinishReasonSPII, genai.FinishReasonImageSafety,
		genai.FinishReasonImageProhibitedContent, genai.FinishReasonImageRecitation:
		return domain.FinishContentFilter
	case genai.FinishReasonStop, unnamed:
		if s.calls > 0 {
			return domain.FinishToolCalls
		}
		return domain.FinishStop
	default:
		if s.calls > 0 {
			return domain.FinishToolCalls
		}
		return domain.FinishOther
	}
}
