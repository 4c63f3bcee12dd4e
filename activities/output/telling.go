package output

import (
	"encoding/json"
	"slices"
	"strconv"

	"everstep/domain"
)

// defaultName is what the tool of a format without a name is called.
const defaultName = "final_answer"

// Tool returns the tool whose arguments are the answer, for agents with the
// given tools: its name is the format's, changed where a tool has it already.
func Tool(format domain.ResponseFormat, tools []domain.ToolSpec) domain.ToolSpec {
	base := format.Name
	if base == "" {
		base = defaultName
	}
	name := base
	for k := 2; slices.ContainsFunc(tools, func(t domain.ToolSpec) bool { return t.Name == name }); k++ {
		suffix := "_" + strconv.Itoa(k)
		name = domain.Shorten(base, maxName-len(suffix)) + suffix
	}
	schema := format.Schema
	if format.Type != domain.FormatSchema {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return domain.ToolSpec{
		Name: name, Schema: schema, Effect: domain.ReadOnly,
		Description: "Gives the final answer, which is the arguments of this call. Call it once, by itself, when everything else is done.",
	}
}

// Instruct returns the system prompt with what tells a model of a format. It is
// the same for each request, so that prompts stay cacheable.
func Instruct(system string, format domain.ResponseFormat) string {
	if system != "" {
		system += "\n\n"
	}
	if format.Type == domain.FormatJSON {
		return system + "Your final answer must be exactly one JSON object: no text before or after it, and no Markdown fence around it."
	}
	return system + "Your final answer must be exactly one JSON value that fits the JSON Schema below: no text before or after it, and no Markdown fence around it.\n\nJSON Schema:\n" + string(format.Schema)
}

// IsObject reports whether a format lets only objects through by its outermost
// type, which is what a tool's arguments must be.
func IsObject(format domain.ResponseFormat) bool {
	if format.Type == domain.FormatJSON {
		return true
	}
	var root struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(format.Schema, &root) == nil && root.Type == "object"
}
