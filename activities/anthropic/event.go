package anthropic

import (
	"encoding/json"

	"everstep/activities/inference/wire"
)

// event is one of a stream's. An answer in one piece is its message.
type event struct {
	failure
	stopping
	Index   wire.Text       `json:"index"`
	Message *message        `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   delta           `json:"delta"`
	Usage   wire.Usage      `json:"usage"`
}

// failure is what tells that there is an error and no answer.
type failure struct {
	Type  wire.Text       `json:"type"`
	Error json.RawMessage `json:"error"`
}

func (f failure) Failed() bool { return f.Type == "error" || wire.Present(f.Error) }

// message is an answer, or in a stream what is known of it at the beginning.
type message struct {
	ID      wire.Text  `json:"id"`
	Model   wire.Text  `json:"model"`
	Content wire.List  `json:"content"`
	Usage   wire.Usage `json:"usage"`
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
	// Arguments are the input as other APIs call it.
	Arguments json.RawMessage `json:"arguments"`
}
