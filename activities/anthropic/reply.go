package anthropic

import (
	"encoding/json"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// event is one of a stream's. An answer in one piece is its message.
type event struct {
	Type    wire.Text       `json:"type"`
	Index   *int            `json:"index"`
	Message *message        `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   delta           `json:"delta"`
	Usage   usage           `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

// message is an answer, or in a stream what is known of it at the beginning.
type message struct {
	ID      wire.Text         `json:"id"`
	Model   wire.Text         `json:"model"`
	Content []json.RawMessage `json:"content"`
	Usage   usage             `json:"usage"`
	stopping
}

// stopping says why the model stopped.
type stopping struct {
	Reason  wire.Text `json:"stop_reason"`
	Details struct {
		Explanation wire.Text `json:"explanation"`
	} `json:"stop_details"`
}

// delta is a piece of a content block, or of the message itself.
type delta struct {
	Type      wire.Text `json:"type"`
	Text      wire.Text `json:"text"`
	Thinking  wire.Text `json:"thinking"`
	Signature wire.Text `json:"signature"`
	Input     wire.Text `json:"partial_json"`
	stopping
}

// contentBlock is one of an answer in one piece, or the beginning of one.
type contentBlock struct {
	Type      wire.Text       `json:"type"`
	ID        wire.Text       `json:"id"`
	Name      wire.Text       `json:"name"`
	Text      wire.Text       `json:"text"`
	Thinking  wire.Text       `json:"thinking"`
	Signature wire.Text       `json:"signature"`
	Input     json.RawMessage `json:"input"`
}

// usage is what was used so far.
type usage struct {
	Input      wire.Count `json:"input_tokens"`
	Output     wire.Count `json:"output_tokens"`
	CacheRead  wire.Count `json:"cache_read_input_tokens"`
	CacheWrite wire.Count `json:"cache_creation_input_tokens"`
	Details    struct {
		Thinking wire.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// take takes over what a later report tells. All counts are of the whole
// message so far, so they only grow; some servers end with zeros, or say less.
func (u *usage) take(later usage) {
	u.Input, u.Output = max(u.Input, later.Input), max(u.Output, later.Output)
	u.CacheRead, u.CacheWrite = max(u.CacheRead, later.CacheRead), max(u.CacheWrite, later.CacheWrite)
	u.Details.Thinking = max(u.Details.Thinking, later.Details.Thinking)
}

// domain normalises: the API counts what it read from the cache or wrote to it
// beside the input, here it is a part of it.
func (u usage) domain() domain.Usage {
	return domain.Usage{
		InputTokens: int64(u.Input + u.CacheRead + u.CacheWrite), OutputTokens: int64(u.Output),
		CacheReadTokens: int64(u.CacheRead), CacheWriteTokens: int64(u.CacheWrite), ReasoningTokens: int64(u.Details.Thinking),
	}
}
