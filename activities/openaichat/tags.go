package openaichat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// keyDialect is the option that says how a model writes. It is not sent.
const keyDialect = "dialect"

// A writing is how a model writes, as its agent says.
type writing struct {
	// CallsInText: calls stand in the text, as JSON between tags.
	CallsInText bool `json:"tool_calls_in_text"`
	// ThinkTags: so does what the model thinks.
	ThinkTags bool `json:"think_tags"`
}

// writingOf reads it out of a model's options.
func writingOf(options domain.Metadata) (w writing, err error) {
	if given, ok := options[keyDialect]; ok {
		decoder := json.NewDecoder(bytes.NewReader(given))
		decoder.DisallowUnknownFields()
		if decoder.Decode(&w) != nil {
			return w, domain.Errorf(domain.Invalid, "options: dialect is not understood; write it like {\"tool_calls_in_text\": true, \"think_tags\": true}")
		}
	}
	return w, nil
}

// The tags between which models write, each with its end.
const (
	callTag, callEnd   = "<tool_call>", "</tool_call>"
	thinkTag, thinkEnd = "<think>", "</think>"
)

// tags read what stands between tags out of a text that comes in pieces.
type tags struct {
	writing
	// open is the tag that is not closed, and held what is to be looked at with the next piece.
	open, held string
	// closed says that a tag was the last thing, behind which blanks mean nothing.
	closed bool
	calls  int
}

// takeText takes a piece of the answer's text; last says that none follows.
func (s *assembly) takeText(piece string, last bool) {
	t := &s.tags
	if !t.CallsInText && !t.ThinkTags {
		s.Text(atText, piece)
		return
	}
	s.Hold(-len(t.held))
	rest := t.held + piece
	t.held = ""
	for rest != "" {
		end := map[string]string{callTag: callEnd, thinkTag: thinkEnd}[t.open]
		at, tag := strings.Index(rest, end), end
		if t.open == "" {
			at, tag = t.opening(rest)
		}
		if at < 0 {
			t.held = rest[s.pass(rest, last):]
			s.Hold(len(t.held))
			return
		}
		switch t.open {
		case "":
			s.plain(strings.TrimRight(rest[:at], blanks))
			t.open = tag
		case thinkTag:
			s.Reasoning(atReasoning, rest[:at])
			t.open, t.closed = "", true
		case callTag:
			if !s.calledInText(rest[:at]) {
				s.plain(callTag + rest[:at] + callEnd)
			}
			t.open, t.closed = "", true
		}
		rest = rest[at+len(tag):]
	}
}

const blanks = " \t\r\n"

// pass tells of a text in which no tag ends or begins as much as is sure, and returns how much that is.
func (s *assembly) pass(rest string, last bool) int {
	t := &s.tags
	sure := len(rest)
	switch {
	case t.open == callTag && !last:
		return 0
	case t.open == callTag:
		if !s.calledInText(rest) {
			s.plain(callTag + rest)
		}
		return sure
	case t.open == thinkTag:
		if !last {
			sure = len(rest) - begun(rest, thinkEnd)
		}
		s.Reasoning(atReasoning, rest[:sure])
		return sure
	}
	if !last {
		sure = len(rest) - max(begun(rest, callTag), begun(rest, thinkTag))
		sure = len(strings.TrimRight(rest[:sure], blanks)) // a tag may follow them
	} else if t.calls > 0 {
		sure = len(strings.TrimRight(rest, blanks))
	}
	s.plain(rest[:sure])
	return sure
}

// plain is text that stands between no tags.
func (s *assembly) plain(text string) {
	if s.tags.closed {
		text = strings.TrimLeft(text, blanks)
	}
	if text != "" {
		s.Text(atText, text)
		s.tags.closed = false
	}
}

// opening is where the first tag of those that are read begins.
func (t *tags) opening(text string) (at int, tag string) {
	at = -1
	for opens, read := range map[string]bool{callTag: t.CallsInText, thinkTag: t.ThinkTags} {
		if k := strings.Index(text, opens); read && k >= 0 && (at < 0 || k < at) {
			at, tag = k, opens
		}
	}
	return at, tag
}

// begun is how many bytes at the end of a text may be the beginning of a tag.
func begun(text, tag string) int {
	for n := min(len(text), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// calledInText takes a call that stands in the text, and reports whether it is one.
func (s *assembly) calledInText(text string) bool {
	var call struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if json.Unmarshal([]byte(text), &call) != nil || call.Name == "" {
		return false
	}
	if call.Arguments == nil {
		call.Arguments = call.Parameters
	}
	var arguments wire.Text
	_ = arguments.UnmarshalJSON(call.Arguments) // it is JSON, or nothing
	s.Call(wire.Piece{Index: inText + s.tags.calls, Name: call.Name, Arguments: cmp.Or(string(arguments), "{}")})
	s.tags.calls++
	return true
}

// inText is the index of the first call in a text.
const inText = 1 << 29
