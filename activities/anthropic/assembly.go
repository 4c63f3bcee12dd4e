package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// assembly puts an answer together from its pieces.
type assembly struct {
	*wire.Attempt

	// from is the server and the model.
	from   string
	blocks []*block
	// open finds a block by the server's number of it, and without one that which began last.
	open  map[wire.Text]*block
	usage wire.Usage
	stop  stopping
	// begun says that the answer has begun, over that its end was seen.
	begun, over bool
	// early is the content that came with the beginning: some servers send all of it there, as in an answer in one piece.
	early wire.List
}

// A block is a part of the answer. Its place is the number of blocks before it.
type block struct {
	contentBlock
	place int
	// raw is the block as it began.
	raw json.RawMessage
	// pieces are those of its input, signed those of its signature.
	pieces, signed strings.Builder
	// fields are those that pieces brought, foreign that there was one of a kind that is not known.
	fields  map[string]json.RawMessage
	foreign bool
	// going says that it was announced, and not that it ended.
	going bool
}

// Finish is the stop reason, once the end was seen too.
func (s *assembly) Finish() string {
	if !s.over {
		return ""
	}
	return string(s.stop.Reason)
}

// End closes the answer, also of a server that leaves out its last event and has another mark of the end.
func (s *assembly) End() error {
	if len(s.blocks) > 0 {
		s.early = nil
	}
	for _, raw := range s.early {
		if err := s.begin("", raw); err != nil {
			return err
		}
	}
	s.over = true
	s.finish()
	return s.Broken(string(s.stop.Reason), "", nil)
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
	if s.early, s.stop = out.Content, out.stopping; len(s.early) > 0 {
		s.stop.Reason = cmp.Or(s.stop.Reason, wire.Unnamed) // the body is whole, so the answer is
	}
	return nil
}

// Event reads the next piece of an answer. What is not known is passed over.
func (s *assembly) Event(e wire.Event) error {
	var piece event
	if err := s.Decode(e, &piece, "the stream holds something that is not an event"); err != nil {
		return err
	}
	kind := cmp.Or(string(piece.Type), e.Name)
	switch kind {
	case "message_start":
		if s.begun {
			return s.Mixed("another one begins in it", e.Data)
		}
		s.begun = true
		if piece.Message != nil {
			s.early = piece.Message.Content
			s.Identify(piece.Message.ID, piece.Message.Model)
			delete(piece.Message.Usage, "output") // the first tokens only: what was written in all is told at the end
			s.report(piece.Message.Usage)
		}
	case "content_block_start":
		if b := s.open[piece.Index]; b != nil && piece.Index != "" && (b.going || b.is(piece.Block)) {
			return s.Mixed("a block of it begins twice", e.Data)
		}
		err := s.begin(piece.Index, piece.Block)
		s.blocks[len(s.blocks)-1].going = true
		return err
	case "content_block_stop":
		if b := s.open[piece.Index]; b != nil {
			b.going = false
		}
	case "content_block_delta":
		b, part := s.open[piece.Index], piece.Delta.kind()
		if b == nil && (part == "text_delta" || part == "thinking_delta") { // some servers do not announce it
			b = s.add(piece.Index)
			b.Type = wire.Text(strings.TrimSuffix(part, "_delta"))
		}
		if b == nil {
			return s.Malformed("the stream holds a piece of a block that never began", e.Data)
		}
		return s.goOn(b, part, piece.Delta, e.Data)
	case "message_delta", "message_stop":
		for _, said := range []stopping{piece.stopping, piece.Delta.stopping} { // some servers say it beside the delta
			if said.Reason != "" {
				s.stop = said
			}
		}
		s.report(piece.Usage)
		if kind == "message_delta" {
			return nil
		}
		if s.Usage.IsZero() {
			s.Report(wire.UsageIn(e.Data))
		}
		s.Done()
		return s.End()
	}
	return nil
}

// is reports whether the beginning of a block is that of this one, by its id.
func (b *block) is(raw json.RawMessage) bool {
	var other contentBlock
	return b.ID != "" && json.Unmarshal(raw, &other) == nil && other.ID == b.ID
}

// report takes a report over earlier ones: counts are of the whole message so far, though some servers end with zeros.
func (s *assembly) report(later wire.Usage) {
	if later["prompt"] > 0 && later["input"] == 0 {
		delete(s.usage, "input") // what came before under the API's own name was an estimate
	}
	for name, count := range later {
		if count > 0 || later["input"]+later["prompt"]+later["cached"]+later["written"] > 0 && name != "output" {
			s.usage[name] = count
		}
	}
	// The API counts what concerns the cache beside the input, some servers count it inside, which a total tells, or the name
	// that other APIs have for it.
	u := maps.Clone(s.usage)
	if input := u["input"]; input > 0 && (input < max(u["cached"], u["written"]) || u["total"] != input+u["output"]) {
		u["fresh"] = input
	}
	s.Usage = u.Domain()
}

// begin takes the beginning of a block, or all of it.
func (s *assembly) begin(index wire.Text, raw json.RawMessage) error {
	b := s.add(index)
	b.raw = raw
	// Once as it came, and once more read.
	s.Hold(2 * len(raw))
	switch {
	case bytes.HasPrefix(raw, []byte(`"`)):
		b.Type = "text"
		_ = b.Text.UnmarshalJSON(raw) // it is valid
	case json.Unmarshal(raw, &b.contentBlock) != nil:
		return s.Malformed("the answer holds a block of another form", raw)
	case !wire.Present(b.Input) && wire.Present(b.Arguments):
		b.Input = b.Arguments
	}
	switch b.Type {
	case "text":
		s.Text(b.place, string(b.Text))
	case "thinking", "redacted_thinking":
		s.Thinks()
		s.Reasoning(b.place, string(b.Thinking))
	case "tool_use":
		s.Call(wire.Piece{Index: b.place, ID: string(b.ID), Name: string(b.Name)})
	}
	return nil
}

func (s *assembly) add(index wire.Text) *block {
	b := &block{place: len(s.blocks)}
	s.blocks, s.open[index], s.open[""] = append(s.blocks, b), b, b
	s.Hold(512 + len(index)) // what it takes beside its words
	return b
}

// kind is the type of a piece. Where the server gives none, what is in it tells.
func (d delta) kind() string {
	switch {
	case d.Type != "":
		return string(d.Type)
	case d.Text != "":
		return "text_delta"
	case d.Thinking != "":
		return "thinking_delta"
	case d.Signature != "":
		return "signature_delta"
	case d.Piece != "":
		return "input_json_delta"
	}
	return ""
}

func (s *assembly) goOn(b *block, kind string, d delta, data []byte) error {
	switch kind {
	case "text_delta":
		s.Text(b.place, string(d.Text))
	case "thinking_delta":
		s.Reasoning(b.place, string(d.Thinking))
	case "signature_delta":
		b.signed.WriteString(string(d.Signature))
		s.Hold(len(d.Signature))
	case "input_json_delta":
		if wire.Names("text thinking redacted_thinking")[string(b.Type)] && d.Piece != "" {
			return s.Malformed("the stream holds a piece of a call's input in a block that is no call", data)
		}
		b.pieces.WriteString(string(d.Piece))
		s.Hold(len(d.Piece))
		if b.Type == "tool_use" && !wire.Present(b.Input) {
			s.Call(wire.Piece{Index: b.place, Arguments: string(d.Piece)})
		}
	case "citations_delta", "":
		// Where a text is from is not kept.
	case "compaction_delta":
		s.Hold(2 * len(data))
		b.take(wire.Object(wire.Object(data)["delta"]))
	default:
		b.foreign = true
		s.Heard()
	}
	return nil
}

// take adds the fields of a piece to the block's: to a text what goes on with it.
func (b *block) take(fields map[string]json.RawMessage) {
	if b.fields == nil {
		b.fields = map[string]json.RawMessage{}
	}
	delete(fields, "type")
	for name, value := range fields {
		var before, more string
		if json.Unmarshal(b.fields[name], &before) == nil && json.Unmarshal(value, &more) == nil {
			value = wire.JSON(before + more)
		}
		b.fields[name] = value
	}
}

// finish keeps what the API wants back of the blocks. A call may have its input at
// its beginning.
func (s *assembly) finish() {
	signed := slices.ContainsFunc(s.blocks, func(b *block) bool { return b.Signature != "" || b.signed.Len() > 0 })
	for i, b := range s.blocks {
		switch b.Type {
		case "text":
		case "thinking":
			k := kept{Thinking: true}
			if !signed && i < len(s.blocks)-1 { // the last may have been cut before its signature
				k.Unsigned = s.from
			}
			s.Keep(b.place, string(b.Signature)+b.signed.String(), k.opaque())
		case "tool_use":
			if wire.Present(b.Input) || b.pieces.Len() == 0 {
				s.Call(wire.Piece{Index: b.place, Arguments: b.input()})
			}
		default:
			if raw := b.whole(); raw != nil {
				s.Keep(b.place, "", kept{Block: raw}.opaque())
			}
		}
	}
}

// input is the arguments of a call: the pieces, unless all that they say is nothing.
func (b *block) input() string {
	pieces := b.pieces.String()
	if strings.TrimSpace(pieces) == "" || json.Valid([]byte(pieces)) && !wire.Present(json.RawMessage(pieces)) {
		return wire.ObjectIn(b.Input)
	}
	return pieces
}

// whole is a block with what came in pieces; nil where it cannot be told.
func (b *block) whole() json.RawMessage {
	if b.pieces.Len() > 0 {
		b.take(map[string]json.RawMessage{"input": json.RawMessage(b.pieces.String())})
	}
	switch {
	case b.foreign || b.Type == "":
		return nil
	case b.fields == nil:
		return b.raw
	}
	whole := wire.Object(b.raw)
	maps.Copy(whole, b.fields)
	raw, _ := json.Marshal(whole) // nil, where the input is no JSON
	return raw
}

// Answer returns the whole answer. Its content decides what it is, before the server's word does.
func (s *assembly) Answer() inference.Answer {
	word := string(s.stop.Reason)
	finish := s.FinishReason(word, false)
	switch {
	case finish == domain.FinishRefusal:
		if !slices.ContainsFunc(s.blocks, func(b *block) bool { return !blank(s.TextAt(b.place)) }) {
			s.Text(len(s.blocks), string(s.stop.Details.Explanation))
		}
		refused := s.Finished(finish, word)
		refused.Message.ToolCalls = nil
		return refused
	case word == domain.WordPaused && finish == domain.FinishOther:
		s.Keep(len(s.blocks), "", kept{Paused: true}.opaque())
	}
	// It is noted where calls stood that were not last: the API wants thinking where it was.
	var last, position int
	for at, b := range s.blocks {
		if b.Type != "tool_use" {
			last = at
		}
	}
	for at, b := range s.blocks {
		if b.Type != "tool_use" {
			continue
		}
		if position++; at < last {
			s.Keep(at, "", kept{Call: position}.opaque())
		}
	}
	return s.Finished(finish, word)
}
