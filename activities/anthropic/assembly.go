package anthropic

import (
	"encoding/json"
	"strings"

	"everstep/activities/inference/wire"
)

// assembly puts an answer together from its pieces.
type assembly struct {
	attempt *wire.Attempt
	draft   *wire.Draft
	// bound is the most tokens that the answer may have.
	bound int64

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
	foreign, ended bool
}

// Complete reports whether both the stop reason and the end were seen.
func (s *assembly) Complete() bool { return s.over && s.stop.Reason != "" }

// Held is about how many bytes of the answer are kept.
func (s *assembly) Held() int { return s.draft.Held() }

// Whole reads an answer that came in one piece.
func (s *assembly) Whole(data []byte) error {
	var out struct {
		Type  wire.Text       `json:"type"`
		Error json.RawMessage `json:"error"`
		message
	}
	if json.Unmarshal(data, &out) != nil {
		return s.attempt.Malformed("the answer is JSON of another form", data)
	}
	if out.Type == "error" || wire.Present(out.Error) {
		return s.attempt.Inner(data)
	}
	s.identify(out.message)
	s.report(out.Usage)
	for i, raw := range out.Content {
		if err := s.begin(&i, raw); err != nil {
			return err
		}
	}
	s.stop, s.over = out.stopping, true
	s.finish()
	s.draft.Flush()
	return nil
}

// Event reads the next piece of an answer. What is not known is passed over.
func (s *assembly) Event(e wire.Event) (done bool, err error) {
	var piece event
	if json.Unmarshal(e.Data, &piece) != nil {
		if e.Name == "error" {
			return false, s.attempt.Inner(e.Data)
		}
		return false, s.attempt.Malformed("the stream holds something that is not an event", e.Data)
	}
	if e.Name == "error" || piece.Type == "error" || wire.Present(piece.Error) {
		return false, s.attempt.Inner(e.Data)
	}
	if piece.Type == "" {
		piece.Type = wire.Text(e.Name)
	}
	if err := s.take(piece, e.Data); err != nil {
		return false, err
	}
	s.draft.Flush()
	return s.over, nil
}

func (s *assembly) take(piece event, data []byte) error {
	switch piece.Type {
	case "message_start":
		if piece.Message != nil {
			s.identify(*piece.Message)
			if u := piece.Message.Usage; u != nil {
				u.Output = nil // the first tokens only: what was written in all is told at the end
				s.report(u)
			}
		}
	case "content_block_start":
		return s.begin(piece.Index, piece.Block)
	case "content_block_delta":
		b := s.find(piece.Index, piece.Delta)
		if b == nil {
			return s.attempt.Malformed("the stream holds a piece of a block that never began", data)
		}
		s.goOn(b, piece.Delta)
	case "content_block_stop":
		if b := s.at(piece.Index); b != nil {
			s.end(b)
		}
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

func (s *assembly) identify(m message) {
	if s.draft.ID == "" {
		s.draft.ID = string(m.ID)
	}
	if s.draft.Model == "" {
		s.draft.Model = string(m.Model)
	}
}

func (s *assembly) report(u *usage) {
	if u != nil {
		s.usage.take(*u)
		s.draft.Usage = s.usage.domain()
	}
}

// begin takes the beginning of a block, or all of it.
func (s *assembly) begin(index *int, raw json.RawMessage) error {
	b := s.add(index)
	b.raw = raw
	// Once as it came, and once more read.
	s.draft.Hold(2 * len(raw))
	if json.Unmarshal(raw, &b.contentBlock) != nil {
		return s.attempt.Malformed("the answer holds a block of another form", raw)
	}
	switch b.Type {
	case "text":
		s.draft.Text(b.place, string(b.Text))
	case "thinking":
		s.draft.Reasoning(b.place, string(b.Thinking))
	case "tool_use":
		s.draft.Call(wire.Piece{Index: b.place, ID: string(b.ID), Name: string(b.Name)})
	}
	return nil
}

func (s *assembly) add(index *int) *block {
	b := &block{place: len(s.blocks)}
	s.blocks = append(s.blocks, b)
	s.draft.Hold(perBlock)
	if s.open == nil {
		s.open = map[int]*block{}
	}
	if index != nil {
		s.open[*index] = b
	}
	return b
}

// at is the block with a number, or where there is none the one that began last.
func (s *assembly) at(index *int) *block {
	if index != nil {
		return s.open[*index]
	}
	if len(s.blocks) == 0 {
		return nil
	}
	return s.blocks[len(s.blocks)-1]
}

// find is the block that a piece belongs to. Some servers do not announce text.
func (s *assembly) find(index *int, d delta) *block {
	b := s.at(index)
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
		s.draft.Text(b.place, string(d.Text))
	case "thinking_delta":
		s.draft.Reasoning(b.place, string(d.Thinking))
	case "signature_delta":
		b.signed.WriteString(string(d.Signature))
		s.draft.Hold(len(d.Signature))
	case "input_json_delta":
		b.pieces.WriteString(string(d.Input))
		s.draft.Hold(len(d.Input))
		if b.Type == "tool_use" {
			s.draft.Call(wire.Piece{Index: b.place, Arguments: string(d.Input)})
		}
	case "citations_delta":
		// Where a text is from is not kept.
	default:
		b.foreign = true
	}
}
