package domain

import (
	"encoding/json"
	"strings"
)

// encodedLen is how many bytes a text takes as JSON, its quotes aside. Texts of
// control characters or of markup take up to six times their length, which
// counts where a page or an input has to stay below a limit.
func encodedLen(text string) int {
	n := len(text) + 3*(strings.Count(text, "\u2028")+strings.Count(text, "\u2029"))
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
			continue
		}
		switch c {
		case '"', '\\', '\n', '\r', '\t', '\b', '\f':
			n++
		default:
			n += 5
		}
	}
	return n
}

// Size is about how many bytes the message takes when encoded.
func (m Message) Size() int {
	n := 200 + encodedLen(m.Name)
	for _, p := range m.Parts {
		n += 32 + encodedLen(p.Text) + len(p.Data)*4/3 + len(p.Opaque) + encodedLen(p.Signature) + encodedLen(p.URL) + encodedLen(p.Filename)
	}
	for _, c := range m.ToolCalls {
		n += c.size()
	}
	if r := m.ToolResult; r != nil {
		n += 64 + encodedLen(r.CallID) + encodedLen(r.Name) + encodedLen(r.Content)
	}
	return n + m.Metadata.size()
}

func (m Metadata) size() int {
	n := 0
	// A sum has no order.
	//workflowcheck:ignore
	for k, v := range m {
		n += 8 + len(k) + len(v)
	}
	return n
}

func (c ToolCall) size() int {
	return 64 + encodedLen(c.ID) + encodedLen(c.Name) + encodedLen(c.Arguments)
}

// Size is about how many bytes the step takes when encoded.
func (s AgentStep) Size() int {
	n := 1024
	for _, m := range s.Output {
		n += m.Size()
	}
	for _, t := range s.ToolExecutions {
		n += 256 + t.Call.size() + encodedLen(t.Value)
	}
	for _, e := range s.AllErrors() {
		n += 96 + encodedLen(e.Message) + encodedLen(e.Source)
	}
	return n
}

// CheckFits refuses what takes more than a number of bytes when encoded.
func CheckFits(what string, value any, limit int) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return Errorf(Internal, "%s: encode: %v", what, err)
	}
	if len(encoded) > limit {
		return Errorf(TooLarge, "%s: takes %d bytes; at most %d fit", what, len(encoded), limit)
	}
	return nil
}
