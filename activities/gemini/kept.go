package gemini

import (
	"cmp"
	"encoding/json"
	"strings"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// An opaque is the opaque value of a reasoning part, told from others' by its name. It is
// recorded.
type opaque struct {
	Layout *layout `json:"gemini_content"`
}

// A layout says of which parts the model's content was made, so that it can be
// sent back as it came. The words themselves are the message's; the layout
// holds what a message has no place for. It is recorded: adding is free.
type layout struct {
	// Of is of the words for which the layout holds.
	Of     domain.Digest `json:"of"`
	Pieces []piece       `json:"pieces"`
}

// A piece is one part of the content.
type piece struct {
	// Text and Thought count the bytes that it takes of the message's text and
	// of its reasoning; Call says that it is the next call. None: an empty text.
	Text    int  `json:"text,omitzero"`
	Thought int  `json:"thought,omitzero"`
	Call    bool `json:"call,omitzero"`
	// Signature is the part's, as it came.
	Signature string `json:"signature,omitzero"`
	// Raw is the whole part, where it has more to it than all that.
	Raw string `json:"raw,omitzero"`
}

// words are what a layout is for.
func words(m domain.Message) (of domain.Digest, text, thought string) {
	var thinking strings.Builder
	for _, p := range m.Parts {
		if p.Type == domain.PartReasoning {
			thinking.WriteString(p.Text)
		}
	}
	text, thought = m.Text(), thinking.String()
	all := [][]byte{[]byte(text), []byte(thought)}
	for _, c := range m.ToolCalls {
		all = append(all, []byte(c.ID), []byte(c.Name), []byte(c.Arguments))
	}
	return domain.DigestOf(all...), text, thought
}

// plain reports whether the pieces are a text and then calls, with no signature to keep: they are written the same without a layout.
func plain(pieces []piece) bool {
	called := false
	for _, p := range pieces {
		if p.Signature != "" || p.Raw != "" || called && p.Text > 0 {
			return false
		}
		called = called || p.Call
	}
	return true
}

// kept returns the parts as they came. None: they are not known, or the message was changed since.
func kept(m domain.Message) []any {
	var found layout
	for _, p := range m.Parts {
		if p.Type == domain.PartReasoning {
			_ = json.Unmarshal(p.Opaque, &opaque{&found}) // others' have no such field
		}
	}
	of, text, thought := words(m)
	if found.Of != of {
		return nil
	}
	calls := m.ToolCalls
	parts := make([]any, 0, len(found.Pieces))
	for _, p := range found.Pieces {
		if p.Text < 0 || p.Text > len(text) || p.Thought < 0 || p.Thought > len(thought) || p.Call && len(calls) == 0 {
			return nil
		}
		part := modelPart{Signature: p.Signature}
		switch {
		case p.Call:
			part.Call, calls = calledWith(calls[0], calls[0].ID), calls[1:]
		case p.Thought > 0:
			part.Text, part.Thought = new(thought[:p.Thought]), true
		default:
			part.Text = new(text[:p.Text])
		}
		text, thought = text[p.Text:], thought[p.Thought:]
		if json.Valid([]byte(p.Raw)) {
			parts = append(parts, json.RawMessage(p.Raw))
		} else {
			parts = append(parts, part)
		}
	}
	if text+thought != "" || len(calls) > 0 {
		return nil
	}
	return parts
}

// modelPart is a part of the model's content, with the signature as it came:
// decoding it and encoding it again could spell it otherwise.
type modelPart struct {
	Text      *string       `json:"text,omitempty"`
	Thought   bool          `json:"thought,omitempty"`
	Call      *functionCall `json:"functionCall,omitempty"`
	Signature string        `json:"thoughtSignature,omitempty"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

func calledWith(c domain.ToolCall, id string) *functionCall {
	return &functionCall{ID: id, Name: named(c.Name), Args: wire.Arguments(c.Arguments, "invalid_arguments")}
}

// named is a tool's name as it is sent: an empty one would be refused, even as history.
func named(name string) string { return cmp.Or(name, "unnamed") }

// callable is the name of a call that is not sent as it came: others' may be refused.
func callable(name string) string { return wire.ToolName(name, 64, ".:") }
