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
)

// sliceHeader is what a list takes beside its content.
const sliceHeader = 24

// assembly puts an answer together from its pieces.
type assembly struct {
	*wire.Attempt

	// choice is the index of the one choice that counts: the first seen.
	choice *int
	// thought is the field in which the thinking came.
	thought string
	// details are JSON values, as they came.
	details [][]byte
	finish  string
	// id is that of what was said first, said means that pieces say it.
	id   string
	said bool
}

// Finish is the finish reason: without usage and end marker the answer is whole too.
func (s *assembly) Finish() string { return s.finish }

// Whole reads an answer that came in one piece.
func (s *assembly) Whole(data []byte) error {
	var out reply
	if err := s.Decode(wire.Event{Data: data}, &out, "the answer is JSON of another form"); err != nil {
		return err
	}
	if out.Choices == nil {
		return s.Malformed("the answer has no choices", data)
	}
	s.take(out, true)
	if s.finish == "" {
		// The body is whole, so the answer is, whatever the server calls it.
		s.finish = unnamed
	}
	if s.finish == "error" {
		return s.Inner(data)
	}
	return nil
}

// Event reads the next piece of an answer.
func (s *assembly) Event(e wire.Event) (done bool, err error) {
	if strings.TrimSpace(string(e.Data)) == "[DONE]" {
		if s.finish == "" && s.FinishOptional {
			s.finish = unnamed
		}
		if s.finish == "" {
			return false, s.Malformed("the stream says it is done without a finish reason", nil)
		}
		return true, nil
	}
	var piece reply
	if err := s.Decode(e, &piece, "the stream holds something that is not a chunk"); err != nil {
		return false, err
	}
	before := s.Held()
	s.take(piece, false)
	if s.Held() != before {
		// A gateway may begin under an id of its own, before anything is said.
		s.id = cmp.Or(s.id, string(piece.ID))
		if piece.ID != "" && string(piece.ID) != s.id {
			return false, s.Mixed("it goes on under another id", e.Data)
		}
	}
	if s.finish == "error" {
		return false, s.Inner(e.Data)
	}
	return false, nil
}

// take adds a piece. The first finish reason counts: a second one is passed over, with
// what stands beside it.
func (s *assembly) take(piece reply, whole bool) {
	s.Identify(piece.ID, piece.Model)
	s.Report(piece.Groq.Usage.Domain())
	s.Report(piece.Usage.Domain())
	if piece.Choices == nil {
		return
	}
	for _, c := range *piece.Choices {
		if !s.counts(c.Index) || s.finish != "" && c.FinishReason != "" {
			continue
		}
		// Some servers send the whole so far beside the piece, or fill in what they do not send.
		said, other := c.Delta, c.Message
		if whole {
			said, other = other, said
		}
		if s.takeContent(said) {
			s.said = true
		} else if !s.said {
			s.takeContent(other)
		}
		if s.finish == "" {
			s.finish = string(c.FinishReason)
		}
	}
	s.Flush()
}

// counts reports whether a choice is the one that is read.
func (s *assembly) counts(index *int) bool {
	if index == nil {
		return s.choice == nil || *s.choice == 0
	}
	if s.choice == nil {
		s.choice = index
	}
	return *s.choice == *index
}

// takeContent takes a message or a piece of one, and reports whether it says anything.
func (s *assembly) takeContent(c *content) bool {
	if c == nil {
		return false
	}
	before := s.Held()
	s.Text(atText, c.Content.text)
	s.Text(atRefusal, string(c.Refusal))
	s.takeThinking(c)
	if len(c.ToolCalls) == 0 {
		s.Call(piece(toolCall{Index: new(int), Function: c.FunctionCall}))
	}
	for _, call := range c.ToolCalls {
		call.Function.Name = cmp.Or(call.Function.Name, call.Custom.Name)
		call.Function.Arguments = cmp.Or(call.Function.Arguments, call.Custom.Input)
		s.Call(piece(call))
	}
	return s.Held() != before
}

// takeThinking takes the model's thinking with what the server wants back: field or details.
func (s *assembly) takeThinking(c *content) {
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
}

// piece is a tool call's in the form in which they are put together.
func piece(call toolCall) wire.Piece {
	index := wire.NoIndex
	if call.Index != nil {
		index = *call.Index
	}
	return wire.Piece{Index: index, ID: string(call.ID), Name: string(call.Function.Name), Arguments: string(call.Function.Arguments)}
}

// Answer returns the whole answer. Its content decides what it is, before the server's word does.
func (s *assembly) Answer() inference.Answer {
	refused := !s.Called() && s.TextAt(atRefusal) != "" && strings.TrimSpace(s.TextAt(atText)) == ""
	if refused {
		s.DropText(atText)
	} else {
		s.DropText(atRefusal)
	}
	var details json.RawMessage
	if len(s.details) > 0 {
		details = slices.Concat([]byte("["), bytes.Join(s.details, []byte(",")), []byte("]"))
	}
	if s.thought+string(details) != "" {
		s.Keep(atReasoning, s.thought, details)
	}
	finish := finishOf(s.finish, s.Called(), refused)
	if finish == domain.FinishToolCalls && s.Cut(s.Bound) {
		finish = domain.FinishLength
	}
	return s.Finished(finish, s.finish)
}

// finishOf reads the server's word for why the model stopped.
func finishOf(word string, calls, refused bool) domain.FinishReason {
	switch strings.ToLower(word) {
	case "length", "max_tokens", "model_length":
		return domain.FinishLength
	case "content_filter":
		return domain.FinishContentFilter
	case "refusal":
		return domain.FinishRefusal
	case "stop", "tool_calls", "function_call", "tool_use", "eos", "end_turn", "stop_sequence", unnamed:
		switch {
		case calls:
			return domain.FinishToolCalls
		case refused:
			return domain.FinishRefusal
		}
		return domain.FinishStop
	}
	if calls {
		return domain.FinishToolCalls
	}
	return domain.FinishOther
}

// reply is a chunk of a stream, or a whole answer. Servers disagree on much, so little is
// taken for granted.
type reply struct {
	ID      wire.Text       `json:"id"`
	Model   wire.Text       `json:"model"`
	Choices *[]choice       `json:"choices"`
	Usage   wire.Usage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Groq    struct {
		Usage wire.Usage `json:"usage"`
	} `json:"x_groq"`
}

func (r reply) Failed() bool { return wire.Present(r.Error) }

type choice struct {
	Index        *int      `json:"index"`
	Delta        *content  `json:"delta"`
	Message      *content  `json:"message"`
	FinishReason wire.Text `json:"finish_reason"`
}

type content struct {
	Content          body            `json:"content"`
	Refusal          wire.Text       `json:"refusal"`
	ReasoningContent wire.Text       `json:"reasoning_content"`
	Reasoning        wire.Text       `json:"reasoning"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	ToolCalls        []toolCall      `json:"tool_calls"`
	FunctionCall     function        `json:"function_call"`
}

type toolCall struct {
	Index    *int      `json:"index"`
	ID       wire.Text `json:"id"`
	Function function  `json:"function"`
	// Custom is set for a call with free text instead of JSON.
	Custom struct {
		Name  wire.Text `json:"name"`
		Input wire.Text `json:"input"`
	} `json:"custom"`
}

type function struct {
	Name      wire.Text `json:"name"`
	Arguments wire.Text `json:"arguments"`
}

// body is a message's content: a text, or parts of which some may be thinking.
type body struct{ text, thinking string }

// UnmarshalJSON never fails.
func (b *body) UnmarshalJSON(data []byte) error {
	var parts []struct {
		Type     string    `json:"type"`
		Text     wire.Text `json:"text"`
		Thinking body      `json:"thinking"`
	}
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '[' {
		var t wire.Text
		err := t.UnmarshalJSON(data)
		b.text = string(t)
		return err
	}
	if json.Unmarshal(data, &parts) != nil {
		return nil
	}
	for _, p := range parts {
		switch p.Type {
		case "", "text", "output_text":
			b.text += string(p.Text)
		case "thinking", "reasoning":
			b.thinking += p.Thinking.text
		}
	}
	return nil
}
