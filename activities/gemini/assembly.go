package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"google.golang.org/genai"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// assembly puts an answer together from its pieces.
type assembly struct {
	*wire.Attempt

	pieces []piece
	// at is the place of the last text or thought, calls the number of calls.
	at, calls int
	// events counts the pieces of the stream and said those that said something, called has the calls by their ids, and
	// again says that the piece that is read repeats one.
	events, said int
	called       map[string]identified
	again        bool
	// choice is the index of the one candidate that counts: the first seen. elsewhere says that
	// another has calls: where the first has none, they belong to the answer.
	choice    *wire.Count
	elsewhere bool
	// finish is the last finish reason, open says that more was said since.
	finish string
	open   bool
	// blocked means that finish says why the prompt was refused, answers that there
	// is a list of candidates.
	blocked, answers bool
}

// Finish says why the model stopped, or why it was not asked, while nothing was said after it.
func (s *assembly) Finish() string {
	if s.open {
		return ""
	}
	return s.finish
}

// Whole reads an answer that came in one piece, or as the list of the pieces of a stream.
func (s *assembly) Whole(data []byte) error {
	for _, one := range wire.ListOf(data) {
		if err := s.Event(wire.Event{Data: one}); err != nil {
			return err
		}
	}
	if s.answers && s.finish == "" && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		s.finish = wire.Unnamed // the body is whole, so the answer is, whatever the server calls it
	}
	return nil
}

// End closes the answer: nothing more is said.
func (s *assembly) End() error {
	s.open = false
	return s.lost(nil)
}

// lost says that the calls are where none are read.
func (s *assembly) lost(data []byte) error {
	if s.elsewhere && s.calls == 0 {
		return s.Malformed("the answer has its tool calls in a second candidate, and one was asked for", data)
	}
	return nil
}

// Event reads the next piece. The finish reason is the API's only mark of the end.
func (s *assembly) Event(e wire.Event) error {
	var in reply
	if err := s.Decode(e, &in, "the stream holds something that is not a piece of an answer"); err != nil {
		return err
	}
	s.Identify(in.ID, in.Model)
	s.Report(wire.UsageIn(e.Data)) // each piece has the count so far
	s.answers = s.answers || in.Candidates != nil
	before, ended := s.Held(), s.finish != ""
	s.events++
	s.again = false
	for _, raw := range in.Candidates {
		var c candidate
		if json.Unmarshal(raw, &c) != nil {
			return s.Malformed("the answer has a candidate of another form", e.Data)
		}
		if s.choice == nil {
			s.choice = &c.Index
		}
		if *s.choice != c.Index {
			s.elsewhere = s.elsewhere || slices.ContainsFunc(c.Content.Parts, func(raw json.RawMessage) bool {
				var p part
				_ = json.Unmarshal(raw, &p) // what is no part is no call
				call := cmp.Or(p.Call, p.ProxysCall)
				return call != nil && call.Name != ""
			})
			continue
		}
		if err := s.take(c, e.Data); err != nil {
			return err
		}
	}
	if s.Held() != before || s.again {
		// No role tells where an answer begins: one whose pieces share an id goes on under no other.
		if err := s.SaidUnder(string(in.ID), ended || s.said > 1, e.Data); err != nil {
			return err
		}
		s.said++
	}
	if why := string(in.Feedback.BlockReason); s.finish == "" && why != "" && genai.BlockedReason(why) != genai.BlockedReasonUnspecified {
		s.finish, s.blocked = why, true
	}
	if s.Finish() != "" {
		return s.lost(e.Data)
	}
	return nil
}

// take adds what a candidate brings: all that is said counts, and the last finish reason.
func (s *assembly) take(c candidate, data []byte) error {
	before := s.Held()
	for _, raw := range c.Content.Parts {
		var p part
		if json.Unmarshal(raw, &p) != nil {
			return s.Malformed("the answer has a part of another form", data)
		}
		p.Call, p.Signature = cmp.Or(p.Call, p.ProxysCall), cmp.Or(p.Signature, p.ProxysSignature)
		if call := p.Call; call != nil {
			if !wire.Present(call.Args) && wire.Present(call.Arguments) {
				call.Args = call.Arguments
			}
			switch {
			case call.ID+call.Name == "" && !wire.Present(call.Args):
				p.Call = nil // filled in
			case wire.Present(call.Partial), wire.Present(call.WillContinue):
				return s.Malformed("the server sends the arguments of calls in pieces, which was not asked for", data)
			}
		}
		if wire.Present(raw) {
			if err := s.takePart(p, raw, data); err != nil {
				return err
			}
		}
	}
	s.open = s.open || s.finish != "" && s.Held() != before
	c.FinishReason = cmp.Or(c.FinishReason, c.ProxysReason)
	switch word := string(c.FinishReason); word {
	case "", "FINISH_REASON_UNSPECIFIED":
	case "MISSING_THOUGHT_SIGNATURE":
		return s.Fail(domain.Invalid, "", nil, "the provider misses the signature of a thought in the conversation (%s); use another model or a new conversation", word)
	default:
		s.finish, s.open = word, false
	}
	return s.Broken(string(c.FinishReason), string(c.FinishMessage), data)
}

// takePart adds a part. Texts that follow on each other and are not signed are one.
func (s *assembly) takePart(p part, raw json.RawMessage, data []byte) error {
	text := string(p.Text)
	next := piece{Signature: string(p.Signature)}
	switch {
	case p.Call != nil:
		next.Call = true
		call := domain.ToolCall{ID: string(p.Call.ID), Name: string(p.Call.Name), Arguments: cmp.Or(wire.ObjectIn(p.Call.Args), "{}")}
		if again, err := s.repeats(call, wire.Present(p.Call.Args), data); again || err != nil {
			return err
		}
		s.Call(wire.Piece{Index: s.calls, ID: call.ID, Name: call.Name, Arguments: call.Arguments})
		s.calls++
	case p.Thought == "true":
		next.Thought = s.Reasoning(s.place(text != ""), text)
	default:
		next.Text = s.Text(s.place(false), text)
	}
	// A layout has no empty thought.
	if len(wire.Unread(raw, ofPart)) > 0 || p.Call != nil && len(p.Call.beside) > 0 || p.Call == nil && text == "" && p.Thought == "true" {
		next.Raw = string(raw)
	}
	s.add(next)
	return nil
}

// An identified is a call with an id, and the number of the event that brought it.
type identified struct {
	domain.ToolCall
	bare  bool
	event int
}

// repeats reports whether a call is one of an earlier event, said once more. Ids are the
// server's, so calls without one are never taken for each other.
func (s *assembly) repeats(call domain.ToolCall, arguments bool, data []byte) (bool, error) {
	if call.ID == "" {
		return false, nil
	}
	before, known := s.called[call.ID]
	switch {
	case !known || before.Name != call.Name || before.event == s.events:
	case !arguments || wire.SameJSON(call.Arguments, before.Arguments):
		s.again = true
		s.Heard()
		return true, nil
	case before.bare:
		return false, s.Malformed("the server sends a call without its arguments and then with them", data)
	}
	s.called[call.ID] = identified{call, !arguments, s.events}
	return false, nil
}

// place is where a text goes in the message: with the one before, if that is of the same kind.
func (s *assembly) place(thinks bool) int {
	if n := len(s.pieces); n == 0 || (s.pieces[n-1].Thought > 0) != thinks {
		s.at++
	}
	return s.at
}

func (s *assembly) add(next piece) {
	if next == (piece{}) {
		return
	}
	if n := len(s.pieces); n > 0 {
		if last := &s.pieces[n-1]; last.open() && next.open() && (last.Thought > 0) == (next.Thought > 0) {
			last.Text, last.Thought = last.Text+next.Text, last.Thought+next.Thought
			return
		}
	}
	s.pieces = append(s.pieces, next)
	s.Hold(len(next.Signature) + len(next.Raw) + 128) // what a part takes beside its words
}

// open reports whether a piece is a mere text, to which another can be added.
func (p piece) open() bool { return !p.Call && p.Signature == "" && p.Raw == "" }

// Answer returns the whole answer. Its content decides what it is, before the server's word does.
func (s *assembly) Answer() inference.Answer {
	finish := s.FinishReason(s.finish, false)
	if s.blocked {
		finish = domain.FinishContentFilter
	}
	answer := s.Finished(finish, s.finish)
	switch m := &answer.Message; {
	case finish == domain.FinishContentFilter:
		m.ToolCalls = nil // what a filter has cut is not acted upon
	case !plain(s.pieces):
		of, _, _ := words(*m)
		m.Parts = append(m.Parts, domain.Part{Type: domain.PartReasoning, Opaque: wire.JSON(opaque{&layout{Of: of, Pieces: s.pieces}})})
	}
	return answer
}

// reply is a piece of an answer, or a whole one: they have the same form.
type reply struct {
	Candidates wire.List `json:"candidates"`
	Feedback   struct {
		BlockReason wire.Text `json:"blockReason"`
	} `json:"promptFeedback"`
	Model wire.Text       `json:"modelVersion"`
	ID    wire.Text       `json:"responseId"`
	Error json.RawMessage `json:"error"`
	// Message is said in the place of candidates.
	Message wire.Text `json:"message"`
}

func (r reply) Failed() bool { return wire.Present(r.Error) || r.Candidates == nil && r.Message != "" }

type candidate struct {
	Index   wire.Count `json:"index"`
	Content struct {
		Parts wire.List `json:"parts"`
	} `json:"content"`
	FinishReason  wire.Text `json:"finishReason"`
	ProxysReason  wire.Text `json:"finish_reason"`
	FinishMessage wire.Text `json:"finishMessage"`
}

// part is a part of the model's content, as far as it is understood. Proxies that are written in Python spell some fields in
// their own way.
type part struct {
	Text      wire.Text  `json:"text"`
	Thought   wire.Text  `json:"thought"`
	Signature wire.Text  `json:"thoughtSignature"`
	Call      *calledFor `json:"functionCall"`

	ProxysSignature wire.Text  `json:"thought_signature"`
	ProxysCall      *calledFor `json:"function_call"`
}

type calledFor struct {
	ID           wire.Text       `json:"id"`
	Name         wire.Text       `json:"name"`
	Args         json.RawMessage `json:"args"`
	Arguments    json.RawMessage `json:"arguments"` // as other APIs call them
	Partial      json.RawMessage `json:"partialArgs"`
	WillContinue json.RawMessage `json:"willContinue"`

	// beside are the fields that only the server knows.
	beside wire.Extra
}

// Of a part and of a call, the fields that are read.
var (
	ofPart = wire.Names("text thought thoughtSignature functionCall thought_signature function_call")
	ofCall = wire.Names("id name args arguments partialArgs willContinue")
)

// UnmarshalJSON also keeps what is not read.
func (c *calledFor) UnmarshalJSON(data []byte) error {
	type plain calledFor
	c.beside = wire.Unread(data, ofCall)
	return json.Unmarshal(data, (*plain)(c))
}
