package openaichat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// keyDialect is the option that says how a model writes. It is not sent.
const keyDialect = "dialect"

// A writing is how a model writes, as its agent says.
type writing struct {
	// CallsInText: calls stand in the text, between tags.
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
			return w, domain.Invalidf("options: dialect is not understood; write it like {\"tool_calls_in_text\": true, \"think_tags\": true}")
		}
	}
	return w, nil
}

// Unread says what an answer has in its text of calls and of thinking that was not read, and which keys of the option dialect
// read it; empty: there is none, or they are given.
func Unread(options domain.Metadata, text string) string {
	var keys []string
	w, _ := writingOf(options) // they were checked
	if !w.CallsInText && callTagged.MatchString(text) {
		keys = append(keys, "tool_calls_in_text")
	}
	if !w.ThinkTags && thinkTagged.MatchString(text) {
		keys = append(keys, "think_tags")
	}
	switch {
	case len(keys) > 0:
		return "has tags of calls or thinking; the model's option dialect reads them: " + strings.Join(keys, ", ")
	case callLike.MatchString(text):
		return "looks like a call of a tool: see that the server is set up to read the calls of this model"
	}
	return ""
}

// The first two find what the option reads, unless it is quoted; callLike finds how models write calls that only their servers
// read.
var (
	callTagged  = regexp.MustCompile("^[^`]*<tool_call>\\s*(?:[{[]|<function=|<invoke |[\\w.:-]+\\s*<arg_key>)")
	thinkTagged = regexp.MustCompile("^(?:\\s*<think>|[^`]*</think>)")
	callLike    = regexp.MustCompile(`(?m)^\s*(?:<function[=_]|<invoke |\[TOOL_CALLS\]|<\|(?:python_tag|tool_call)|<｜(?:tool|DSML))`)
)

// The tags between which models write. The end of each is spelled as it is, with a slash.
const (
	callTag  = "<tool_call>"
	callEnd  = "</tool_call>"
	thinkTag = "<think>"
	thinkEnd = "</think>"
)

// tags read what stands between tags out of a text that comes in pieces.
type tags struct {
	writing
	tools []domain.ToolSpec
	// open is the tag that is not closed, and held what is to be looked at with the next piece.
	open string
	held []byte
	// closed says that a tag was the last thing, behind which blanks mean nothing.
	closed bool
	calls  int
	// thought says that a thinking has ended, or comes in a field of its own.
	thought bool
}

// takeText takes a piece of the answer's text; last says that none follows.
func (s *assembly) takeText(piece string, last bool) {
	t := &s.tags
	if !t.CallsInText && !t.ThinkTags {
		s.Text(atText, piece)
		return
	}
	s.Hold(-len(t.held))
	t.held = append(t.held, piece...)
	if t.open == callTag && !last && !bytes.Contains(t.held[max(0, len(t.held)-len(piece)-len(callEnd)):], []byte(callEnd)) {
		s.Hold(len(t.held)) // not looked at as a whole for each piece
		return
	}
	rest := string(t.held)
	t.held = nil
	for rest != "" {
		at, tag := t.next(rest, s.TextAt(atText) != "")
		if at < 0 {
			sure := t.sure(rest, last)
			s.between(rest[:sure], "")
			t.held = []byte(rest[sure:])
			s.Hold(len(t.held))
			return
		}
		text := rest[:at]
		rest = rest[at+len(tag):]
		if t.open == "" && tag != thinkEnd {
			s.between(strings.TrimRight(text, blanks), "")
			t.open = tag
			continue
		}
		if s.between(text, tag); t.open == "" { // the template of the server has begun the thinking
			s.Reasoning(atReasoning, s.TextAt(atText))
			s.DropText(atText)
		}
		t.open, t.closed, t.thought = "", true, t.thought || tag == thinkEnd
	}
}

const blanks = " \t\r\n"

// between takes what stands behind the open tag and before its end, or between no tags.
func (s *assembly) between(text, end string) {
	switch {
	case text+end == "":
	case s.tags.open == thinkTag:
		s.Reasoning(atReasoning, text)
	case s.tags.open == "":
		s.plain(text)
	case !s.calledInText(text):
		s.plain(callTag + text + end)
	}
}

// sure is how much of a text in which no tag begins or ends can be told: what may be the beginning of one waits.
func (t *tags) sure(text string, last bool) int {
	switch {
	case last && t.open == "" && t.calls > 0:
		return len(strings.TrimRight(text, blanks))
	case last:
		return len(text)
	case t.open == callTag:
		return 0
	case t.open == thinkTag:
		return begun(text, thinkEnd)
	}
	return len(strings.TrimRight(text[:begun(text, callTag, thinkTag, thinkEnd)], blanks)) // a tag may follow them
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

// next is where the end of the open tag is, else where the first of those that are read begins, or a thinking ends: behind
// one that has ended, or came in a field of its own, only where nothing was said yet.
func (t *tags) next(text string, said bool) (at int, tag string) {
	if t.open != "" {
		tag = "</" + t.open[1:]
		return strings.Index(text, tag), tag
	}
	ends := t.ThinkTags && (!t.thought || !said && strings.HasPrefix(strings.TrimLeft(text, blanks), thinkEnd))
	at = -1
	for opens, read := range map[string]bool{callTag: t.CallsInText, thinkTag: t.ThinkTags, thinkEnd: ends} {
		if k := strings.Index(text, opens); read && k >= 0 && (at < 0 || k < at) {
			at, tag = k, opens
		}
	}
	return at, tag
}

// begun is where what may be the beginning of one of some tags stands at the end of a text, else that end.
func begun(text string, tags ...string) int {
	at := max(strings.LastIndexByte(text, '<'), 0)
	if slices.ContainsFunc(tags, func(tag string) bool { return strings.HasPrefix(tag, text[at:]) && tag != text[at:] }) {
		return at
	}
	return len(text)
}

// calledInText takes the calls that stand in the text, and reports whether there are any and nothing else.
func (s *assembly) calledInText(text string) bool {
	var calls []wire.Piece
	for _, raw := range wire.ListOf([]byte(text)) {
		var named struct {
			Name     string
			Function struct{ Name string }
		}
		call, err := readCall(raw)
		if err != nil || json.Unmarshal(raw, &named) != nil || named.Name+named.Function.Name == "" {
			calls = s.tags.inTags(text)
			break
		}
		calls = append(calls, call)
	}
	const first = 1 << 29 // behind those that the server has numbered
	for _, call := range calls {
		s.Call(wire.Piece{Index: first + s.tags.calls, Name: call.Name, Arguments: cmp.Or(call.Arguments, "{}")})
		s.tags.calls++
	}
	return len(calls) > 0
}

// The ways in which models write a call without JSON, and its arguments:
//
//	<function=f><parameter=x>…</parameter></function>
//	<invoke name="f"><parameter name="x">…</parameter></invoke>
//	f<arg_key>x</arg_key><arg_value>…</arg_value>
var (
	callWritten     = regexp.MustCompile(`(?s)^\s*(?:<function=([\w.:-]+)>(.*?)</function>|<invoke name="([\w.:-]+)">(.*?)</invoke>|([\w.:-]+)\s*(<arg_key>.*|$))\s*`)
	argumentWritten = regexp.MustCompile(`(?s)\s*<(?:parameter=|parameter name="|arg_key>)([\w.:-]+)(?:"?>|</arg_key>\s*<arg_value>)\n?(.*?)\n?</(?:parameter|arg_value)>\s*`)
)

// inTags are the calls in a text that is written in one of these ways, none where there is anything else.
func (t *tags) inTags(text string) (calls []wire.Piece) {
	for text != "" {
		found := callWritten.FindStringSubmatch(text)
		if found == nil {
			return nil
		}
		text = text[len(found[0]):]
		name, written := found[1]+found[3]+found[5], found[2]+found[4]+found[6]
		var tool domain.ToolSpec
		if at := slices.IndexFunc(t.tools, func(tool domain.ToolSpec) bool { return tool.Name == name }); at >= 0 {
			tool = t.tools[at]
		}
		properties := wire.Object(wire.Object(tool.Schema)["properties"])
		arguments := map[string]json.RawMessage{}
		for _, argument := range argumentWritten.FindAllStringSubmatch(written, -1) {
			key, value := argument[1], []byte(argument[2])
			if !json.Valid(value) || bytes.Contains(wire.Object(properties[key])["type"], []byte("string")) {
				value = wire.JSON(argument[2])
			}
			arguments[key] = value
		}
		if strings.TrimSpace(argumentWritten.ReplaceAllString(written, "")) != "" || tool.Name == "" && len(arguments) == 0 {
			return nil // it was cut, or is no call
		}
		calls = append(calls, wire.Piece{Name: name, Arguments: string(wire.JSON(arguments))})
	}
	return calls
}
