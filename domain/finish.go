package domain

import "everstep/domain/enum"

// A FinishReason says why the model stopped writing. The provider's own word is
// kept beside it, in Response.FinishWord.
type FinishReason string

const (
	// FinishStop: the answer is whole.
	FinishStop FinishReason = "stop"
	// FinishLength: the limit of output tokens or the window cut it.
	FinishLength FinishReason = "length"
	// FinishToolCalls: the model waits for the results of its calls.
	FinishToolCalls FinishReason = "tool_calls"
	// FinishContentFilter: the provider's filter withheld the rest, or all.
	FinishContentFilter FinishReason = "content_filter"
	// FinishRefusal: the model declined. Its text is an answer all the same.
	FinishRefusal FinishReason = "refusal"
	// FinishError: the provider failed while answering.
	FinishError FinishReason = "error"
	// FinishOther: a word of the provider's that is none of these.
	FinishOther FinishReason = "other"
)

// FinishReasons lists every finish reason.
func FinishReasons() []FinishReason {
	return []FinishReason{
		FinishStop, FinishLength, FinishToolCalls, FinishContentFilter, FinishRefusal, FinishError, FinishOther,
	}
}

// UnmarshalText accepts the known reasons only.
func (f *FinishReason) UnmarshalText(text []byte) error {
	return enum.Decode(f, text, FinishReasons(), "finish_reason")
}

// WordPaused is the provider's word for an answer that is not over: sent back
// as it is, the provider goes on with it. Its finish reason is FinishOther.
const WordPaused = "pause_turn"
