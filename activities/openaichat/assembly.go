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

// unnamed is the finish reason of a whole answer whose server gave none.
const unnamed = "none"

// The places of an answer's parts: servers number none.
const (
	atReasoning = iota
	atText
	atRefusal
	atKept
)

// sliceHeader is what a list takes beside its content.
const sliceHeader = 24

// assembly puts an answer together from its pieces.
type assembly struct {
	*wire.Attempt

	// choice is the index of the one choice that counts: 0, or while that is not there the first seen. elsewhere says that
	// another has calls: where that one has none, they belong to the answer.
	choice    *int
	elsewhere bool
	// thought is the field in which the thinking came.
	thought string
	// details are JSON values, as they came.
	details [][]byte
	// beside are the fields of the message that only the server knows.
	beside wire.Extra
	blocks []thinkingBlock
	// finish is the last finish reason, open says that more was said since.
	finish string
	open   bool
	// bare says that a piece was said without a role, again that a role came after it.
	bare, again bool

	// brought is what the deltas of a stream have brought. What they have not is taken from
	// message, the whole so far, which some servers send beside them or in their place.
	brought struct{ text, thinking, calls bool }
	message content
	// older is the call that came in the field of older models.
	older wire.Draft
	// tags read what the model writes into its text.
	tags tags
}

// olderCall is the index of a call that came in the field of older models.
const olderCall = 1 << 30

// Finish is the finish reason, while nothing was said after it: without usage and end marker
// the answer is whole too.
func (s *assembly) Finish() string {
	if s.open || s.callsElsewhere() {
		return ""
	}
	return s.finish
}

func (s *assembly) callsElsewhere() bool {
	return s.elsewhere && !s.brought.calls && !s.message.calls()
}

const callsElsewhere = "the answer has its tool calls in a second choice, and one choice was asked for"

// Whole reads an answer that came in one piece.
func (s *assembly) Whole(data []byte) error {
	var out reply
	if err := s.Decode(wire.Event{Data: data}, &out, "the answer is JSON of another form"); err != nil {
		return err
	}
	if out.Choices == nil {
		return s.Malformed("the answer has no choices", data)
	}
	if err := s.take(out, true, data); err != nil {
		return err
	}
	if s.callsElsewhere() {
		return s.Malformed(callsElsewhere, data)
	}
	s.open = false
	if s.finish == "" {
		// The body is whole, so the answer is, whatever the server calls it.
		s.finish = unnamed
	}
	return nil
}

// Event reads the next piece of an answer.
func (s *assembly) Event(e wire.Event) (done bool, err error) {
	switch string(bytes.TrimSpace(e.Data)) {
	case "[DONE]":
		return true, s.End()
	case "":
		return false, nil
	}
	var piece reply
	if err := s.Decode(e, &piece, "the stream holds something that is not a chunk"); err != nil {
		return false, err
	}
	before, ended := s.Held(), s.finish != ""
	if err := s.take(piece, false, e.Data); err != nil {
		return false, err
	}
	said := s.Held() != before
	if said && s.again {
		return false, s.Mixed("another one begins in it", e.Data)
	}
	if said || !ended && s.finish != "" {
		if err := s.SaidUnder(string(piece.ID), ended, e.Data); err != nil {
			return false, err
		}
	}
	return false, nil
}

// Trailer reads what follows the end marker: the usage, and nothing more.
func (s *assembly) Trailer(data []byte) { s.Report(wire.UsageIn(data)) }

// End closes the answer at its end marker. Without a finish reason it is whole only where it
// says something, and all arguments in it can be read: else it was cut.
func (s *assembly) End() error {
	if s.callsElsewhere() {
		return s.Malformed(callsElsewhere, nil)
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
	s.finish = unnamed
	return nil
}

// take adds a piece: all that is said counts, and the last finish reason.
func (s *assembly) take(piece reply, whole bool, data []byte) error {
	s.Identify(piece.ID, piece.Model)
	s.Report(wire.UsageIn(data))
	if piece.Choices == nil {
		return nil
	}
	for _, c := range *piece.Choices {
		if kind := cmp.Or(c.Delta.unknown(), c.Message.unknown()); kind != "" {
			return s.Malformed("the answer holds content of type "+domain.Shorten(kind, maxKind)+", which is not understood", data)
		}
		if wire.Present(c.Error) {
			return s.Inner(c.Error)
		}
		if !s.counts(c.Index) {
			s.elsewhere = s.elsewhere || c.Delta.calls() || c.Message.calls()
			continue
		}
		for _, said := range []*content{c.Delta, c.Message} {
			if said != nil {
				s.beside.Add(said.beside)
				s.takeBlocks(said.Blocks)
			}
		}
		before := s.Held()
		if whole {
			if !s.takeContent(c.Message, true) {
				s.takeContent(c.Delta, true)
			}
		} else {
			s.takePiece(c)
		}
		if said := s.Held() != before; said && s.finish != "" {
			s.open = true
		}
		if c.FinishReason != "" {
			s.finish, s.open = string(c.FinishReason), false
		}
	}
	s.Flush()
	switch word := strings.ToLower(s.finish); {
	case word == "error", word == "network_error":
		return s.Inner(data)
	case strings.Contains(word, "malformed_function_call"):
		return s.Inner([]byte(`{"code":"malformed_function_call"}`))
	}
	return nil
}

// maxKind bounds what is shown of a type that is not known.
const maxKind = 40

// counts reports whether a choice is the one that is read.
func (s *assembly) counts(index *int) bool {
	switch {
	case index == nil:
		return s.choice == nil || *s.choice == 0
	case s.choice == nil:
		s.choice = index
	case *index == 0 && *s.choice != 0:
		*s = assembly{Attempt: s.Attempt, choice: index, elsewhere: s.Called() || s.elsewhere}
		s.Restart()
	}
	return *s.choice == *index
}

// takePiece takes a choice of a stream. A role begins an answer, unless the server sends it
// with each piece, with the last, or with a call.
func (s *assembly) takePiece(c choice) {
	hasRole := c.Delta != nil && c.Delta.Role != ""
	s.again = s.again || hasRole && s.bare && c.FinishReason == "" && !c.Delta.calls()
	if s.takeContent(c.Delta, false) && !hasRole {
		s.bare = true
	}
	if c.Message != nil {
		s.takeSoFar(*c.Message)
	}
}

// takeContent takes a message or a piece of one, and reports whether it says anything. The
// calls of a whole message are numbered by their places: models repeat ids.
func (s *assembly) takeContent(c *content, whole bool) bool {
	if c == nil {
		return false
	}
	before := s.Held()
	text := c.Content.text + string(c.Refusal) + c.Content.refusal
	s.takeText(c.Content.text, false)
	s.Text(atRefusal, string(c.Refusal)+c.Content.refusal)
	thinking := s.takeThinking(c)
	pieces := make([]wire.Piece, 0, len(c.ToolCalls))
	for place, call := range c.ToolCalls {
		call.Function.Name = cmp.Or(call.Function.Name, call.Custom.Name)
		call.Function.Arguments = cmp.Or(call.Function.Arguments, call.Custom.Input)
		if whole {
			call.Index = &place
		}
		pieces = append(pieces, piece(call))
	}
	s.Call(pieces...)
	held := s.older.Held()
	s.older.Call(piece(toolCall{Index: new(int), Function: c.FunctionCall}))
	s.Hold(s.older.Held() - held)
	s.brought.text = s.brought.text || text != ""
	s.brought.thinking = s.brought.thinking || thinking
	s.brought.calls = s.brought.calls || c.calls()
	return s.Held() != before
}

// takeSoFar keeps what a message beside the deltas of a stream says: it is all so far, or
// where it does not begin with what came before, the next piece.
func (s *assembly) takeSoFar(m content) {
	grow := func(kept *wire.Text, now wire.Text) {
		if !strings.HasPrefix(string(now), string(*kept)) {
			now = *kept + now
		}
		s.Hold(len(now) - len(*kept))
		*kept = now
	}
	kept := &s.message
	if !s.brought.text {
		text, refusal := wire.Text(kept.Content.text), wire.Text(kept.Content.refusal)
		grow(&text, wire.Text(m.Content.text))
		grow(&refusal, m.Refusal+wire.Text(m.Content.refusal))
		kept.Content.text, kept.Content.refusal = string(text), string(refusal)
	}
	if !s.brought.thinking {
		grow(&kept.ReasoningContent, m.ReasoningContent)
		grow(&kept.Reasoning, m.Reasoning)
		thinking := wire.Text(kept.Content.thinking)
		grow(&thinking, wire.Text(m.Content.thinking))
		kept.Content.thinking = string(thinking)
		if wire.Present(m.ReasoningDetails) {
			s.Hold(max(len(m.ReasoningDetails)-len(kept.ReasoningDetails), 0))
			kept.ReasoningDetails = m.ReasoningDetails
		}
	}
	if !s.brought.calls && m.calls() {
		s.Hold(max(m.size()-kept.size(), 0))
		kept.ToolCalls, kept.FunctionCall = m.ToolCalls, m.FunctionCall
	}
}

// settle takes what came beside the pieces and not in them: a message, the call of older models.
func (s *assembly) settle() {
	m := s.message
	s.message = content{}
	if s.brought.text {
		m.Content.text, m.Content.refusal = "", ""
	}
	if s.brought.thinking {
		m.Content.thinking, m.ReasoningContent, m.Reasoning, m.ReasoningDetails = "", "", "", nil
	}
	if s.brought.calls {
		m.ToolCalls, m.FunctionCall = nil, function{}
	}
	s.takeContent(&m, true)
	s.takeText("", true)
	for k, call := range s.older.Calls() {
		if !slices.ContainsFunc(s.Calls(), func(c domain.ToolCall) bool { return c.Name == call.Name }) {
			s.Call(wire.Piece{Index: olderCall + k, Name: call.Name, Arguments: call.Arguments})
		}
	}
	s.older = wire.Draft{}
	s.Flush()
}

// takeThinking takes the model's thinking with what the server wants back, field or details,
// and reports whether there is any.
func (s *assembly) takeThinking(c *content) bool {
	field, thinking := "reasoning_content", c.ReasoningContent
	if thinking == "" {
		field, thinking = "reasoning", c.Reasoning
	}
	if thinking == "" {
		field, thinking = "", wire.Text(c.Content.thinking)
	}
	if thinking != "" {
		s.thought = field
		s.Reasoning(atReasoning, string(thinking))
	}
	var details []json.RawMessage
	if wire.Present(c.ReasoningDetails) && json.Unmarshal(c.ReasoningDetails, &details) == nil {
		for _, d := range details {
			s.details = append(s.details, d)
			s.Hold(len(d) + sliceHeader)
		}
	}
	return thinking != "" || len(details) > 0
}

// piece is a tool call's in the form in which they are put together.
func piece(call toolCall) wire.Piece {
	index := wire.NoIndex
	if call.Index != nil {
		index = *call.Index
	}
	return wire.Piece{Index: index, ID: string(call.ID), Name: string(call.Function.Name), Arguments: string(call.Function.Arguments), Beside: call.beside}
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
		details = slices.Concat([]byte("["), bytes.Join(s.details, []byte(",")), []byte("]"))
	}
	if s.thought+string(details) != "" {
		s.Keep(atReasoning, s.thought, details)
	}
	if len(s.blocks) > 0 {
		blocks, _ := json.Marshal(whole(s.blocks)) // texts cannot fail
		s.beside.Add(wire.Extra{thinkingBlocks: blocks})
	}
	if kept := opaqueOf(s.Base.Host, s.beside, s.BesideCalls()); kept != nil {
		s.Keep(atKept, "", kept)
	}
	finish := finishOf(s.finish, s.Called(), refused)
	if finish == domain.FinishToolCalls && s.Cut(s.Bound) {
		finish = domain.FinishLength
	}
	return s.Finished(finish, s.finish)
}
