package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// assembly puts an answer together from its pieces.
type assembly struct {
	*wire.Attempt

	blocks []*block
	// open finds a block by the server's number of it.
	open  map[int]*block
	usage usage
	stop  stopping
	over  bool
}

// perBlock is what a block takes beside its words.
const perBlock = 512

// A block is a part of the answer. Its place is the number of blocks before it.
type block struct {
	contentBlock
	place int
	// raw is the block as it began.
	raw json.RawMessage
	// pieces are those of its input, signed those of its signature.
	pieces, signed strings.Builder
	// foreign says that it got a piece of a kind that is not known.
	foreign bool
}

// Finish is the stop reason, once the end was seen too.
func (s *assembly) Finish() string {
	if !s.over {
		return ""
	}
	return string(s.stop.Reason)
}

// Whole reads an answer that came in one piece.
func (s *assembly) Whole(data []byte) error {
	var out struct {
		failure
		message
	}
	if err := s.Decode(wire.Event{Data: data}, &out, "the answer is JSON of another form"); err != nil {
		return err
	}
	s.Identify(out.ID, out.Model)
	s.report(out.Usage)
	for i, raw := range out.Content {
		if err := s.begin(&i, raw); err != nil {
			return err
		}
	}
	s.stop, s.over = out.stopping, true
	s.finish()
	s.Flush()
	return nil
}

// Event reads the next piece of an answer. What is not known is passed over.
func (s *assembly) Event(e wire.Event) (done bool, err error) {
	var piece event
	if err := s.Decode(e, &piece, "the stream holds something that is not an event"); err != nil {
		return false, err
	}
	if piece.Type == "" {
		piece.Type = wire.Text(e.Name)
	}
	if err := s.take(piece, e.Data); err != nil {
		return false, err
	}
	s.Flush()
	return s.over, nil
}

func (s *assembly) take(piece event, data []byte) error {
	switch piece.Type {
	case "message_start":
		if piece.Message != nil {
			s.Identify(piece.Message.ID, piece.Message.Model)
			piece.Message.Usage.Output = 0 // the first tokens only: what was written in all is told at the end
			s.report(piece.Message.Usage)
		}
	case "content_block_start":
		return s.begin(piece.Index, piece.Block)
	case "content_block_delta":
		b := s.at(piece.Index, piece.Delta)
		if b == nil {
			return s.Malformed("the stream holds a piece of a block that never began", data)
		}
		s.goOn(b, piece.Delta)
	case "message_delta":
		if piece.Delta.Reason != "" {
			s.stop = piece.Delta.stopping
		}
		s.report(piece.Usage)
	case "message_stop":
		s.over = true
		s.finish()
	}
	return nil
}

func (s *assembly) report(u usage) {
	s.usage.take(u)
	s.Usage = s.usage.domain()
}

// begin takes the beginning of a block, or all of it.
func (s *assembly) begin(index *int, raw json.RawMessage) error {
	b := s.add(index)
	b.raw = raw
	// Once as it came, and once more read.
	s.Hold(2 * len(raw))
	if json.Unmarshal(raw, &b.contentBlock) != nil {
		return s.Malformed("the answer holds a block of another form", raw)
	}
	switch b.Type {
	case "text":
		s.Text(b.place, string(b.Text))
	case "thinking":
		s.Reasoning(b.place, string(b.Thinking))
	case "tool_use":
		s.Call(wire.Piece{Index: b.place, ID: string(b.ID), Name: string(b.Name)})
	}
	return nil
}

func (s *assembly) add(index *int) *block {
	b := &block{place: len(s.blocks)}
	s.blocks = append(s.blocks, b)
	s.Hold(perBlock)
	if index != nil {
		s.open[*index] = b
	}
	return b
}

// at is the block that a piece belongs to: that with the number, or where there is
// none the one that began last. Some servers do not announce text.
func (s *assembly) at(index *int, d delta) *block {
	var b *block
	if index != nil {
		b = s.open[*index]
	} else if n := len(s.blocks); n > 0 {
		b = s.blocks[n-1]
	}
	if b == nil && (d.Type == "text_delta" || d.Type == "thinking_delta") {
		b = s.add(index)
		b.Type = wire.Text(strings.TrimSuffix(string(d.Type), "_delta"))
	}
	return b
}

// goOn adds a piece to a block.
func (s *assembly) goOn(b *block, d delta) {
	switch d.Type {
	case "text_delta":
		s.Text(b.place, string(d.Text))
	case "thinking_delta":
		s.Reasoning(b.place, string(d.Thinking))
	case "signature_delta":
		b.signed.WriteString(string(d.Signature))
		s.Hold(len(d.Signature))
	case "input_json_delta":
		b.pieces.WriteString(string(d.Piece))
		s.Hold(len(d.Piece))
		if b.Type == "tool_use" {
			s.Call(wire.Piece{Index: b.place, Arguments: string(d.Piece)})
		}
	case "citations_delta":
		// Where a text is from is not kept.
	default:
		b.foreign = true
	}
}

// finish keeps what the API wants back of the blocks. A call may have its input at
// its beginning.
func (s *assembly) finish() {
	for _, b := range s.blocks {
		switch b.Type {
		case "text":
		case "thinking":
			s.Keep(b.place, string(b.Signature)+b.signed.String(), kept{Thinking: true}.opaque())
		case "tool_use":
			if b.pieces.Len() == 0 {
				s.Call(wire.Piece{Index: b.place, Arguments: string(b.Input)})
			}
		default:
			if raw := b.whole(); raw != nil {
				s.Keep(b.place, "", kept{Block: raw}.opaque())
			}
		}
	}
}

// whole is a block with the input that came in pieces; nil where it cannot be told.
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
	raw, _ := json.Marshal(fields) // they were read from JSON
	return raw
}

// Answer returns the whole answer. Its content decides what it is, before the server's word does.
func (s *assembly) Answer() inference.Answer {
	word := string(s.stop.Reason)
	finish := finishOf(word, s.Called())
	switch {
	case finish == domain.FinishToolCalls && s.Cut(s.Bound):
		finish = domain.FinishLength
	case finish == domain.FinishRefusal:
		if !slices.ContainsFunc(s.blocks, func(b *block) bool { return !blank(s.TextAt(b.place)) }) {
			s.Text(len(s.blocks), string(s.stop.Details.Explanation))
			s.Flush()
		}
		refused := s.Finished(finish, word)
		refused.Message.ToolCalls = nil
		return refused
	case word == Paused && finish == domain.FinishOther:
		s.Keep(len(s.blocks), "", kept{Paused: true}.opaque())
	}
	s.place()
	return s.Finished(finish, word)
}

// place notes where calls stood that were not last: the API wants thinking where it was.
func (s *assembly) place() {
	var behind, position int
	for _, b := range s.blocks {
		if b.Type != "tool_use" {
			behind = b.place
		}
	}
	for _, b := range s.blocks {
		if b.Type != "tool_use" {
			continue
		}
		if position++; b.place < behind {
			s.Keep(b.place, "", kept{Call: position}.opaque())
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
	}
	switch {
	case calls:
		return domain.FinishToolCalls
	case slices.Contains([]string{"end_turn", "stop_sequence", "tool_use"}, strings.ToLower(word)):
		return domain.FinishStop
	}
	return domain.FinishOther
}

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

// stopping says why the model stopped.
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

// take takes over a later report. Counts are of the whole message so far, though some servers
// end with zeros.
func (u *usage) take(later usage) {
	u.Input, u.Output = max(u.Input, later.Input), max(u.Output, later.Output)
	u.CacheRead, u.CacheWrite = max(u.CacheRead, later.CacheRead), max(u.CacheWrite, later.CacheWrite)
	u.Details.Thinking = max(u.Details.Thinking, later.Details.Thinking)
}

// domain normalises: the API counts what concerns the cache beside the input.
func (u usage) domain() domain.Usage {
	return domain.Usage{
		InputTokens: int64(u.Input + u.CacheRead + u.CacheWrite), OutputTokens: int64(u.Output),
		CacheReadTokens: int64(u.CacheRead), CacheWriteTokens: int64(u.CacheWrite), ReasoningTokens: int64(u.Details.Thinking),
	}
}
