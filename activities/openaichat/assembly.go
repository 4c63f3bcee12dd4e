package openaichat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// The places of an answer's parts: servers number none.
const (
	atReasoning = iota
	atText
	atRefusal
	atKept
)

// assembly puts an answer together from its pieces.
type assembly struct {
	*wire.Attempt

	// choice is the index of the one choice that counts: 0, or while that is not there the first seen. elsewhere says that
	// another has calls: where that one has none, they belong to the answer.
	choice    wire.Text
	elsewhere bool
	// thought is the field in which the thinking came.
	thought string
	// details are JSON values, as they came.
	details []json.RawMessage
	// beside are the fields of the message that only the server knows.
	beside wire.Extra
	blocks []thinkingBlock
	// finish is the last finish reason, open says that more was said since.
	finish string
	open   bool
	// bare says that a piece was said without a role, again that a role came after it.
	bare, again bool

	// brought is what the deltas of a stream have brought. What they have not is taken from message, the whole so far, which
	// some servers send beside them or in their place.
	brought struct{ text, thinking, calls bool }
	message content
	// older is the call that came in the field of older models.
	older wire.Draft
	// tags read what the model writes into its text.
	tags tags
}

// Finish is the finish reason, while nothing was said after it: without usage and end marker
// the answer is whole too.
func (s *assembly) Finish() string {
	if s.open || s.callsElsewhere() {
		return ""
	}
	return s.finish
}

func (s *assembly) callsElsewhere() bool {
	return s.elsewhere && !s.brought.calls && s.tags.calls == 0 && s.message.size() == 0
}

// Whole reads an answer that came in one piece.
func (s *assembly) Whole(data []byte) error {
	out, err := s.reply(wire.Event{Data: data}, "the answer is JSON of another form")
	if err != nil {
		return err
	}
	if out.Choices == nil {
		return s.Malformed("the answer has no choices", data)
	}
	err = s.take(out, true, data)
	s.finish = cmp.Or(s.finish, wire.Unnamed) // the body is whole, so the answer is, whatever the server calls it
	return err
}

// Event reads the next piece of an answer.
func (s *assembly) Event(e wire.Event) error {
	piece, err := s.reply(e, "the stream holds something that is not a chunk")
	if err != nil {
		return err
	}
	before, ended := s.Held(), s.finish != ""
	if err := s.take(piece, false, e.Data); err != nil {
		return err
	}
	switch said := s.Held() != before; {
	case said && s.again:
		return s.Mixed("another one begins in it", e.Data)
	case said || !ended && s.finish != "":
		return s.SaidUnder(string(piece.ID), ended, e.Data)
	}
	return nil
}

// reply decodes an answer or a piece of one, also one that stands in an object of a gateway's.
func (s *assembly) reply(e wire.Event, what string) (out reply, err error) {
	err = s.Decode(e, &out, what)
	for _, inner := range []json.RawMessage{out.Data, out.Result} {
		if err == nil && out.Choices == nil && bytes.HasPrefix(inner, []byte("{")) {
			e.Data = inner
			err = s.Decode(e, &out, what)
		}
	}
	return out, err
}

// Trailer reads what follows the end marker: the usage, and nothing more.
func (s *assembly) Trailer(data []byte) { s.Report(wire.UsageIn(data)) }

// End closes the answer at its end marker. Without a finish reason it is whole only where it
// says something, and all arguments in it can be read: else it was cut.
func (s *assembly) End() error {
	if s.callsElsewhere() {
		return s.Malformed("the answer has its tool calls in a second choice, and one choice was asked for", nil)
	}
	s.settle()
	s.open = false
	if s.finish != "" {
		return nil
	}
	calls := s.Calls()
	if len(calls) == 0 && s.TextAt(atText)+s.TextAt(atRefusal) == "" {
		return s.Malformed("the stream says it is done, without a finish reason and without an answer", nil)
	}
	for _, call := range calls {
		if !json.Valid([]byte(call.Arguments)) {
			return s.Malformed("the stream says it is done inside of a tool call, without a finish reason", nil)
		}
	}
	s.finish = wire.Unnamed
	return nil
}

// take adds a piece: all that is said counts, and the last finish reason.
func (s *assembly) take(piece reply, whole bool, data []byte) error {
	s.Identify(piece.ID, piece.Model)
	s.Report(wire.UsageIn(data))
	for _, c := range piece.Choices {
		if kind := cmp.Or(c.Delta.unknown, c.Message.unknown); kind != "" {
			return s.Malformed("the answer "+wire.Unknown(kind), data)
		}
		if wire.Present(c.Error) {
			return s.Inner(c.Error)
		}
		if !s.counts(c.Index) {
			s.elsewhere = s.elsewhere || c.Delta.size()+c.Message.size() > 0
			continue
		}
		for _, said := range []content{c.Delta, c.Message} {
			s.beside.Add(said.beside)
			var blocks []thinkingBlock // their text comes beside them too
			if wire.Present(said.blocks) && json.Unmarshal(said.blocks, &blocks) == nil {
				s.Hold(len(said.blocks))
				s.blocks = append(s.blocks, blocks...)
			}
		}
		before := s.Held()
		switch {
		case !whole:
			// A role begins an answer, unless the server sends it with each piece, with the last, or with a call.
			s.again = s.again || c.Delta.role != "" && s.bare && c.FinishReason == "" && c.Delta.size() == 0
			s.bare = s.takeContent(c.Delta, false) && c.Delta.role == "" || s.bare
			s.takeSoFar(c.Message)
		case !s.takeContent(c.Message, true):
			s.takeContent(c.Delta, true)
		}
		s.open = s.open || s.finish != "" && s.Held() != before
		if c.FinishReason != "" && c.FinishReason != "null" {
			s.finish, s.open = string(c.FinishReason), false
		}
	}
	return s.Broken(s.finish, "", data)
}

// counts reports whether a choice is the one that is read.
func (s *assembly) counts(index wire.Text) bool {
	switch {
	case index == "":
		return s.choice == "" || s.choice == "0"
	case s.choice == "":
		s.choice = index
	case index == "0" && s.choice != "0":
		*s = assembly{Attempt: s.Attempt, choice: index, elsewhere: s.Called() || s.elsewhere, tags: tags{writing: s.tags.writing, tools: s.tags.tools}}
		s.Restart()
	}
	return s.choice == index
}

// takeContent takes a message or a piece of one, and reports whether it says anything. The
// calls of a whole message are numbered by their places: models repeat ids.
func (s *assembly) takeContent(c content, whole bool) bool {
	before := s.Held()
	s.tags.thought = s.tags.thought || c.thinking != ""
	s.takeText(c.text, false)
	s.Text(atRefusal, c.refusal)
	if c.thinking != "" {
		s.thought = c.field
		s.Reasoning(atReasoning, c.thinking)
	}
	var details []json.RawMessage
	if c.details != nil { // as in few pieces
		_ = json.Unmarshal(c.details, &details) // what is no list is not kept
	}
	s.details = append(s.details, details...)
	s.Hold(len(c.details) + 24*len(details)) // for the headers of slices
	for place := range c.calls {
		if whole {
			c.calls[place].Index = place
		}
	}
	s.Call(c.calls...)
	held := s.older.Held()
	s.older.Call(c.older)
	s.Hold(s.older.Held() - held)
	s.brought.text = s.brought.text || c.text+c.refusal != ""
	s.brought.thinking = s.brought.thinking || c.thinking != "" || len(details) > 0
	s.brought.calls = s.brought.calls || c.size() > 0
	return s.Held() != before
}

// takeSoFar keeps what a message beside the deltas of a stream says: it is all so far, or
// where it does not begin with what came before, the next piece.
func (s *assembly) takeSoFar(m content) {
	grow := func(kept *string, now string) {
		if !strings.HasPrefix(now, *kept) {
			now = *kept + now
		}
		s.Hold(len(now) - len(*kept))
		*kept = now
	}
	kept := &s.message
	if !s.brought.text {
		grow(&kept.text, m.text)
		grow(&kept.refusal, m.refusal)
	}
	if !s.brought.thinking {
		grow(&kept.thinking, m.thinking)
		kept.field = cmp.Or(m.field, kept.field)
		if m.details != nil {
			s.Hold(max(len(m.details)-len(kept.details), 0))
			kept.details = m.details
		}
	}
	if !s.brought.calls && m.size() > 0 {
		s.Hold(max(m.size()-kept.size(), 0))
		kept.calls, kept.older = m.calls, m.older
	}
}

// settle takes what came beside the pieces and not in them: a message, the call of older models.
func (s *assembly) settle() {
	m := s.message
	s.message = content{}
	s.takeText("", true)
	s.brought.calls, s.brought.thinking = s.brought.calls || s.tags.calls > 0, s.brought.thinking || s.tags.thought
	if s.brought.text {
		m.text, m.refusal = "", ""
	}
	if s.brought.thinking {
		m.thinking, m.details = "", nil
	}
	if s.brought.calls {
		m.calls, m.older = nil, wire.Piece{}
	}
	s.takeContent(m, true)
	s.takeText("", true)
	const first = 1 << 30 // behind all others
	for k, call := range s.older.Calls() {
		if !slices.ContainsFunc(s.Calls(), func(c domain.ToolCall) bool { return c.Name == call.Name }) {
			s.Call(wire.Piece{Index: first + k, Name: call.Name, Arguments: call.Arguments})
		}
	}
	s.older = wire.Draft{}
}

// Answer returns the whole answer. Its content decides what it is, before the server's word does.
func (s *assembly) Answer() inference.Answer {
	s.settle()
	refused := !s.Called() && s.TextAt(atRefusal) != ""
	if strings.TrimSpace(s.TextAt(atText)) == "" && refused || s.TextAt(atText) == s.TextAt(atRefusal) {
		s.DropText(atText) // some servers say it in both fields
	}
	var details json.RawMessage
	if len(s.details) > 0 {
		details = wire.JSON(s.details)
	}
	if s.thought+string(details) != "" {
		s.Keep(atReasoning, s.thought, details)
	}
	k := kept{s.Base.Host, s.beside, s.BesideCalls()}
	if !slices.ContainsFunc(k.Calls, func(call wire.Extra) bool { return len(call) > 0 }) {
		k.Calls = nil
	}
	if len(wire.JSON(k)) > 2*wire.MaxExtra {
		k.Message, k.Calls = nil, nil
	}
	if k.Message == nil {
		k.Message = wire.Extra{}
	}
	if len(s.blocks) > 0 { // all of them, as servers refuse a part
		k.Message[thinkingBlocks] = wire.JSON(whole(s.blocks))
	}
	if len(k.Message)+len(k.Calls) > 0 {
		s.Keep(atKept, "", wire.JSON(opaque{k}))
	}
	return s.Finished(s.FinishReason(s.finish, refused), s.finish)
}
