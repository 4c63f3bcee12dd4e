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
	domain.FinishStop:   "stop tool_calls tool_call function_call tool_use eos eos_token stop_token end_turn stop_sequence complete completed end done " + Unnamed,
	domain.FinishLength: "length max_tokens max_output_tokens max_new_tokens model_length token_limit error_limit continuation",
	domain.FinishContentFilter: "content_filter content_filtered guardrail_intervened error_toxic model_armor sensitive safety recitation blocklist prohibited_content spii image_safety image_prohibited_content " +
		"image_recitation",
	domain.FinishRefusal: "refusal",
}

// Broken is the error of an answer that ended with a word for its having failed, with what came; nil where the word is another.
func (a *Attempt) Broken(word string, body []byte) error {
	word = strings.ToLower(word)
	switch {
	case word == "": // as each piece but the last has it
	case slices.Contains(strings.Fields("error network_error abort aborted cancelled timeout insufficient_system_resource"), word):
		return a.Inner(body)
	case strings.Contains(word, "malformed_"):
		return a.Inner([]byte(`{"code":"malformed_function_call"}`))
	}
	return nil
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
	case a.Cut(a.Bound):
		return domain.FinishLength
	case a.Called():
		return domain.FinishToolCalls
	case ended && refused:
		return domain.FinishRefusal
	}
	return reason
}
