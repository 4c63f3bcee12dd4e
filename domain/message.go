package domain

import (
	"encoding/json"
	"everstep/domain/enum"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// A Role says who speaks in a message.
type Role string

const (
	// RoleSystem is the operator's instruction.
	RoleSystem Role = "system"
	// RoleDeveloper is an instruction that ranks between system and user.
	RoleDeveloper Role = "developer"
	// RoleUser is the person, or the program, that asks.
	RoleUser Role = "user"
	// RoleAssistant is the model.
	RoleAssistant Role = "assistant"
	// RoleTool carries the result of one tool call.
	RoleTool Role = "tool"
)

// UnmarshalText accepts the known roles only.
func (r *Role) UnmarshalText(text []byte) error {
	return enum.Decode(r, text, "role", RoleSystem, RoleDeveloper, RoleUser, RoleAssistant, RoleTool)
}

// A PartType says what a part of a message holds.
type PartType string

const (
	// PartText is plain text.
	PartText PartType = "text"
	// PartImage is a picture, by URL or as data.
	PartImage PartType = "image"
	// PartFile is a document, by URL or as data.
	PartFile PartType = "file"
	// PartAudio is sound, by URL or as data.
	PartAudio PartType = "audio"
	// PartReasoning is the model's own thinking, which goes back exactly as it came.
	PartReasoning PartType = "reasoning"
)

// UnmarshalText accepts the known part types only.
func (p *PartType) UnmarshalText(text []byte) error {
	return enum.Decode(p, text, "type", PartText, PartImage, PartFile, PartAudio, PartReasoning)
}

// A Part is one piece of a message's content.
type Part struct {
	Type PartType `json:"type"`
	// Text is the content of a text or reasoning part.
	Text string `json:"text,omitzero"`
	// MediaType, URL, Data (base64 on the wire) and Filename describe an image, a file or audio. The URL of a tool's
	// large image names one that the worker's storage keeps.
	MediaType string `json:"media_type,omitzero"`
	URL       string `json:"url,omitzero"`
	Data      []byte `json:"data,omitempty"`
	Filename  string `json:"filename,omitzero"`
	// Signature and Opaque are what the provider wants back with its reasoning, byte for byte.
	Signature string          `json:"signature,omitzero"`
	Opaque    json.RawMessage `json:"opaque,omitempty"`
}

// Note is what stands for a part where only text can be shown: [image image/png 34 KB].
func (p Part) Note() string {
	kind, _, _ := strings.Cut(p.MediaType, ";")
	note := "[" + string(p.Type)
	if kind = Shorten(strings.Map(ofMediaType, kind), 48); kind != "" {
		note += " " + kind
	}
	if n := len(p.Data); n > 0 {
		note += fmt.Sprintf(" %d KB", (n+999)/1000)
	}
	if p.Filename != "" {
		note += " " + Shorten(strings.Map(ofLine, p.Filename), 200)
	}
	return note + "]"
}

// ofLine keeps what others write inside a note in its line.
func ofLine(r rune) rune {
	if r < ' ' || r == 0x7f || r == '[' || r == ']' {
		return ' '
	}
	return r
}

// ofMediaType keeps what a media type is written with: whoever sends a part says what it is.
func ofMediaType(r rune) rune {
	if r == '/' || r == '+' || r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return -1
}

// A ToolCall is the model's request to run a tool.
type ToolCall struct {
	// ID is the provider's. Real models repeat it: it pairs a call with its result and no more.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is the exact text that the model sent, valid JSON or not.
	Arguments string `json:"arguments"`
}

// A ToolResult is what the model gets to read about one of its calls.
type ToolResult struct {
	CallID  string `json:"call_id"`
	Name    string `json:"name"`
	Content string `json:"content"`
	IsError bool   `json:"is_error,omitzero"`
}

// A Message is one entry of a conversation. It is written once and never changed.
type Message struct {
	ID        MessageID `json:"id,omitzero"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	Role      Role      `json:"role"`
	// Parts are what is said. Those of a tool's message are the images of its result, which its text names.
	Parts      []Part      `json:"parts,omitempty"`
	ToolCalls  []ToolCall  `json:"tool_calls,omitempty"`
	ToolResult *ToolResult `json:"tool_result,omitempty"`
	Name       string      `json:"name,omitzero"`
	Metadata   Metadata    `json:"metadata,omitempty"`
}

// Equal reports whether two messages are the same in all that is recorded, where an empty list is another than none.
func (m Message) Equal(other Message) bool {
	same := m.CreatedAt.Equal(other.CreatedAt)
	m.CreatedAt = other.CreatedAt
	return same && reflect.DeepEqual(m, other)
}

// Metadata is what hooks, tools and programs note: JSON values by key.
type Metadata map[string]json.RawMessage

// Blank reports whether no text of the message can be seen: white space, controls, zero-width characters and fillers cannot.
func (m Message) Blank() bool {
	return !strings.ContainsFunc(m.Text(), func(r rune) bool {
		return r != '\u2800' && !unicode.In(r, unicode.White_Space, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
	})
}

// Text returns the text parts of the message, joined.
func (m Message) Text() string {
	if len(m.Parts) == 1 && m.Parts[0].Type == PartText {
		return m.Parts[0].Text
	}
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Type == PartText {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// UserMessage returns a text of the user. Its id and time are given when it joins.
func UserMessage(text string) Message {
	return Message{Role: RoleUser, Parts: []Part{{Type: PartText, Text: text}}}
}

// ToolMessage returns the message that carries a tool's result to the model.
func ToolMessage(result ToolResult) Message { return Message{Role: RoleTool, ToolResult: &result} }
