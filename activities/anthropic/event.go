package anthropic

import (
	"cmp"
	"encoding/json"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// event is one of a stream's. An answer in one piece is its message.
type event struct {
	failure
	Index   *int            `json:"index"`
	Message *message        `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   delta           `json:"delta"`
	Usage   usage           `json:"usage"`
}

// failure is what tells that there is an error and no answer.
type failure struct {
	Type  wire.Text       `json:"type"`
	Error json.RawMessage `json:"error"`
}

func (f failure) Failed() bool { return f.Type == "error" || wire.Present(f.Error) }

// message is an answer, or in a stream what is known of it at the beginning.
type message struct {
	ID      wire.Text         `json:"id"`
	Model   wire.Text         `json:"model"`
	Content []json.RawMessage `json:"content"`
	Usage   usage             `json:"usage"`
	stopping
}

type stopping struct {
	Reason  wire.Text `json:"stop_reason"`
	Details struct {
		Explanation wire.Text `json:"explanation"`
	} `json:"stop_details"`
}

// delta is a piece of a content block, or of the message itself.
type delta struct {
	contentBlock
	Piece wire.Text `json:"partial_json"`
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

type usage struct {
	Input      *wire.Count `json:"input_tokens"`
	Output     wire.Count  `json:"output_tokens"`
	CacheRead  *wire.Count `json:"cache_read_input_tokens"`
	CacheWrite *wire.Count `json:"cache_creation_input_tokens"`
	Total      wire.Count  `json:"total_tokens"`
	Details    struct {
		Thinking wire.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// take takes over a later report, which counts over an earlier one: counts are of the whole
// message so far, though some servers end with zeros.
func (u *usage) take(later usage) {
	if count(later.Input)+count(later.CacheRead)+count(later.CacheWrite) > 0 {
		u.Input, u.CacheRead, u.CacheWrite = cmp.Or(later.Input, u.Input), cmp.Or(later.CacheRead, u.CacheRead), cmp.Or(later.CacheWrite, u.CacheWrite)
	}
	u.Output, u.Total = cmp.Or(later.Output, u.Output), cmp.Or(later.Total, u.Total)
	u.Details.Thinking = cmp.Or(later.Details.Thinking, u.Details.Thinking)
}

func count(c *wire.Count) int64 {
	if c == nil {
		return 0
	}
	return int64(*c)
}

// domain normalises: the API counts what concerns the cache beside the input, some servers
// count it inside, which a total tells.
func (u usage) domain() domain.Usage {
	read, write := count(u.CacheRead), count(u.CacheWrite)
	input := count(u.Input) + read + write
	if inside := count(u.Input); inside >= max(read, write) && int64(u.Total) == inside+int64(u.Output) {
		input = inside
	}
	return wire.Consistent(domain.Usage{
		InputTokens: input, OutputTokens: int64(u.Output), CacheReadTokens: read, CacheWriteTokens: write, ReasoningTokens: int64(u.Details.Thinking),
	}, int64(u.Total))
}
