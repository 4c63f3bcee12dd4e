package wire

import (
	"encoding/json"
	"strings"
)

// ToolName is the name under which a call is sent back, of at most so many
// bytes: letters, digits, _ and -, and the characters that the API takes beside
// them. Models call tools by names that APIs refuse, even as history.
func ToolName(name string, most int, also string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', strings.ContainsRune(also, r):
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), most)]
}

// Parameters is a tool's schema as OpenAI's APIs want it: they refuse one of
// type object that does not say which properties it has, be it none.
func Parameters(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(schema, &fields) != nil || fields["properties"] != nil || string(fields["type"]) != `"object"` {
		return schema
	}
	fields["properties"] = json.RawMessage("{}")
	whole, err := json.Marshal(fields)
	if err != nil {
		return schema
	}
	return whole
}
