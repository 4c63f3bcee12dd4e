package openaichat

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"everstep/activities/inference"
	"everstep/domain"
)

var done = []byte("[DONE]")

// unnamed is the finish reason of a whole answer whose server gave none.
const unnamed = "none"

// assembly puts an answer together from its pieces.
type assembly struct {
	attempt *attempt
	emit    func(inference.Delta)

	id, model string
	// choice is the index of the one choice that counts: the first seen.
	choice   *int
	body     strings.Builder
	refusal  strings.Builder
	thinking strings.Builder
	// thought is the field in which the thinking came.
	thought string
	// details are JSON values, as they came.
	details [][]byte
	calls   calls
	finish  string
	usage   domain.Usage
}

// readWhole reads an answer that came in one piece.
func (s *assembly) readWhole(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	var out reply
	if err := json.Unmarshal(data, &out); err != nil {
		if !json.Valid(data) {
			return s.attempt.malformed("the answer is not valid JSON, or was cut", data)
		}
		return s.attempt.malformed("the answer is JSON of another form", data)
	}
	if present(out.Error) {
		return s.attempt.inner(data)
	}
	if out.Choices == nil {
		return s.attempt.malformed("the answer has no choices", data)
	}
	s.take(out)
	if s.finish == "" {
		// The body is whole, so the answer is, whatever the server calls it.
		s.finish = unnamed
	}
	if s.finish == "error" {
		return s.attempt.inner(data)
	}
	return nil
}

// readStream reads an answer that comes in pieces, up to the end of the
// stream. What is missing after the finish reason was seen (usage, the end
// marker) does not make it less whole.
func (s *assembly) readStream(stream *events) error {
	var heard bool
	for {
		e, err := stream.next()
		switch {
		case err != nil && s.finish != "":
			return nil
		case errors.Is(err, io.EOF) && !heard:
			return s.attempt.malformed("the answer has no events", stream.line)
		case errors.Is(err, io.EOF):
			return s.attempt.malformed("the stream ended before the answer was whole", nil)
		case err != nil:
			return err
		case bytes.Equal(bytes.TrimSpace(e.data), done):
			if s.finish == "" && s.attempt.provider.config.FinishOptional {
				s.finish = unnamed
			}
			if s.finish == "" {
				return s.attempt.malformed("the stream says it is done without a finish reason", nil)
			}
			return nil
		}
		heard = true
		if err := s.takeEvent(e); err != nil {
			return err
		}
	}
}

func (s *assembly) takeEvent(e event) error {
	var piece reply
	if err := json.Unmarshal(e.data, &piece); err != nil {
		if e.name == "error" {
			return s.attempt.inner(e.data)
		}
		return s.attempt.malformed("the stream holds something that is not a chunk", e.data)
	}
	if e.name == "error" || present(piece.Error) {
		return s.attempt.inner(e.data)
	}
	s.take(piece)
	if s.finish == "error" {
		return s.attempt.inner(e.data)
	}
	return nil
}

// take adds a piece. The first finish reason counts, and nothing but usage
// after it.
func (s *assembly) take(piece reply) {
	if s.id == "" {
		s.id = string(piece.ID)
	}
	if s.model == "" {
		s.model = string(piece.Model)
	}
	if piece.Usage == nil && piece.Groq != nil {
		piece.Usage = piece.Groq.Usage
	}
	if piece.Usage != nil {
		if reported := piece.Usage.domain(); !reported.IsZero() {
			s.usage = reported
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
			s.attempt.body.idle = min(trailerTimeout, s.attempt.body.idle)
			s.attempt.quiet.heard(s.attempt.body.idle)
		}
	}
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
	delta := inference.Delta{Text: c.Content.text + string(c.Refusal)}
	s.body.WriteString(c.Content.text)
	s.refusal.WriteString(string(c.Refusal))
	field, thinking := "reasoning_content", c.ReasoningContent
	if thinking == "" {
		field, thinking = "reasoning", c.Reasoning
	}
	if thinking == "" {
		field, thinking = "", text(c.Content.thinking)
	}
	if thinking != "" {
		s.thought = field
		s.thinking.WriteString(string(thinking))
		delta.Reasoning = string(thinking)
	}
	var details []json.RawMessage
	if present(c.ReasoningDetails) && json.Unmarshal(c.ReasoningDetails, &details) == nil {
		for _, d := range details {
			s.details = append(s.details, d)
		}
	}
	if c.FunctionCall != nil {
		zero := 0
		delta.Tool = s.calls.add(toolCall{Index: &zero, Function: *c.FunctionCall})
	}
	for _, call := range c.ToolCalls {
		if call.Custom != nil {
			call.Function = function{Name: call.Custom.Name, Arguments: call.Custom.Input}
		}
		if name := s.calls.add(call); name != "" {
			delta.Tool = name
		}
	}
	if !delta.IsEmpty() {
		s.emit(delta)
	}
}

// unreadable is the error of a response that is neither JSON nor a stream.
func (s *assembly) unreadable(r io.Reader, mediaType string) error {
	head, err := io.ReadAll(io.LimitReader(r, 1<<10))
	if err != nil {
		return err
	}
	if len(head) == 0 {
		return s.attempt.malformed("the response is empty", nil)
	}
	if mediaType == "" {
		mediaType = "of no stated type"
	}
	return s.attempt.malformed("the response is a page ("+mediaType+") and not an answer; check the base URL", head)
}
