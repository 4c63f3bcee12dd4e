package openaichat

import (
	"encoding/json"
	"strings"

	"everstep/activities/inference/wire"
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
	attempt *wire.Attempt
	draft   *wire.Draft
	// bound is the most tokens that the answer may have. Zero is no bound.
	bound          int64
	finishOptional bool

	// choice is the index of the one choice that counts: the first seen.
	choice *int
	// thought is the field in which the thinking came.
	thought string
	// details are JSON values, as they came.
	details [][]byte
	finish  string
}

// Complete reports whether the finish reason was seen. What is missing after
// it (usage, the end marker) does not make the answer less whole.
func (s *assembly) Complete() bool { return s.finish != "" }

// Held is about how many bytes of the answer are kept.
func (s *assembly) Held() int { return s.draft.Held() }

// Whole reads an answer that came in one piece.
func (s *assembly) Whole(data []byte) error {
	var out reply
	if json.Unmarshal(data, &out) != nil {
		return s.attempt.Malformed("the answer is JSON of another form", data)
	}
	if wire.Present(out.Error) {
		return s.attempt.Inner(data)
	}
	if out.Choices == nil {
		return s.attempt.Malformed("the answer has no choices", data)
	}
	s.take(out)
	if s.finish == "" {
		// The body is whole, so the answer is, whatever the server calls it.
		s.finish = unnamed
	}
	if s.finish == "error" {
		return s.attempt.Inner(data)
	}
	return nil
}

// Event reads the next piece of an answer.
func (s *assembly) Event(e wire.Event) (done bool, err error) {
	if strings.TrimSpace(string(e.Data)) == "[DONE]" {
		if s.finish == "" && s.finishOptional {
			s.finish = unnamed
		}
		if s.finish == "" {
			return false, s.attempt.Malformed("the stream says it is done without a finish reason", nil)
		}
		return true, nil
	}
	var piece reply
	if err := json.Unmarshal(e.Data, &piece); err != nil {
		if e.Name == "error" {
			return false, s.attempt.Inner(e.Data)
		}
		return false, s.attempt.Malformed("the stream holds something that is not a chunk", e.Data)
	}
	if e.Name == "error" || wire.Present(piece.Error) {
		return false, s.attempt.Inner(e.Data)
	}
	s.take(piece)
	if s.finish == "error" {
		return false, s.attempt.Inner(e.Data)
	}
	return false, nil
}

// take adds a piece. The first finish reason counts, and nothing but usage
// after it.
func (s *assembly) take(piece reply) {
	if s.draft.ID == "" {
		s.draft.ID = string(piece.ID)
	}
	if s.draft.Model == "" {
		s.draft.Model = string(piece.Model)
	}
	if piece.Usage == nil && piece.Groq != nil {
		piece.Usage = piece.Groq.Usage
	}
	if piece.Usage != nil {
		if reported := piece.Usage.domain(); !reported.IsZero() {
			s.draft.Usage = reported
		}
	}
	if piece.Choices == nil || s.finish != "" {
		return
	}
	for _, c := range *piece.Choices {
		if !s.counts(c.Index) {
			continue
		}
		for _, content := range []*content{c.Delta, c.Message} {
			if content != nil {
				s.takeContent(content)
			}
		}
		if c.FinishReason != "" && s.finish == "" {
			s.finish = string(c.FinishReason)
		}
	}
	s.draft.Flush()
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

func (s *assembly) takeContent(c *content) {
	s.draft.Text(atText, c.Content.text)
	s.draft.Text(atRefusal, string(c.Refusal))
	s.takeThinking(c)
	if c.FunctionCall != nil {
		s.draft.Call(piece(toolCall{Index: new(int), Function: *c.FunctionCall}))
	}
	for _, call := range c.ToolCalls {
		if call.Custom != nil {
			call.Function = function{Name: call.Custom.Name, Arguments: call.Custom.Input}
		}
		s.draft.Call(piece(call))
	}
}

// takeThinking takes the model's thinking with what the server wants back: the
// field in which it came, or its details as they came.
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
		s.draft.Reasoning(atReasoning, string(thinking))
	}
	var details []json.RawMessage
	if wire.Present(c.ReasoningDetails) && json.Unmarshal(c.ReasoningDetails, &details) == nil {
		for _, d := range details {
			s.details = append(s.details, d)
			s.draft.Hold(len(d) + sliceHeader)
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
