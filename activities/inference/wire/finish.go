package wire

import (
	"slices"
	"strings"

	"everstep/domain"
)

// Unnamed is the finish word of an answer in one piece whose server gave none.
const Unnamed = "none"

// finishWords are those by which APIs say why a model stopped, in lower case.
var finishWords = map[domain.FinishReason]string{
	domain.FinishStop:   "stop tool_calls function_call tool_use eos end_turn stop_sequence " + Unnamed,
	domain.FinishLength: "length max_tokens model_length continuation",
	domain.FinishContentFilter: "content_filter sensitive safety recitation blocklist prohibited_content spii image_safety image_prohibited_content " +
		"image_recitation",
	domain.FinishRefusal: "refusal",
}

// FinishReason reads the API's word for why the model stopped. Where the word is that it merely ended, or is not known, what
// the answer holds decides: calls, the last of which the token limit may have cut, or a refusal in words.
func (a *Attempt) FinishReason(word string, refused bool) domain.FinishReason {
	word, _, _ = strings.Cut(strings.ToLower(word), ":")
	reason := domain.FinishOther
	for known, words := range finishWords {
		if slices.Contains(strings.Fields(words), word) {
			reason = known
		}
	}
	ended := reason == domain.FinishStop
	switch {
	case !ended && reason != domain.FinishOther:
		return reason
	case a.Called() && a.Cut(a.Bound):
		return domain.FinishLength
	case a.Called():
		return domain.FinishToolCalls
	case ended && refused:
		return domain.FinishRefusal
	}
	return reason
}
