package wire

import (
	"cmp"
	"encoding/json"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/output"
	"everstep/domain"
)

// What OpenAI's two APIs share.

// OfOpenAI reports whether a host is OpenAI's own or Azure's.
func OfOpenAI(host string) bool {
	return host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com")
}

// Format is the response format as Responses have it, where it is told in the
// API's own way; else nil. One without a name gets one, as the APIs want it.
func Format(call inference.Call) (map[string]any, error) {
	switch f := call.Format; {
	case call.OutputMode != domain.OutputNative:
	case f.Type == domain.FormatJSON:
		return map[string]any{"type": "json_object"}, nil
	case f.Type == domain.FormatSchema && len(f.Schema) == 0:
		return nil, NeedsSchema()
	case f.Type == domain.FormatSchema:
		strict := output.Strict(f.Schema) == nil
		return map[string]any{"type": "json_schema", "name": cmp.Or(f.Name, "answer"), "strict": strict, "schema": f.Schema}, nil
	}
	return nil, nil
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
	whole, _ := json.Marshal(fields) // they were read from JSON
	return whole
}

// Consistent returns a usage in OpenAI's form whose parts are parts: cached is
// part of input, reasoning part of output. Servers are known to count them
// beside, which the total tells, or that a part is more than the whole.
func Consistent(u domain.Usage, total int64) domain.Usage {
	if u.ReasoningTokens > u.OutputTokens || u.ReasoningTokens > 0 && total == u.InputTokens+u.OutputTokens+u.ReasoningTokens {
		u.OutputTokens += u.ReasoningTokens
	}
	if cached := u.CacheReadTokens + u.CacheWriteTokens; cached > u.InputTokens {
		u.InputTokens += cached
	}
	return u
}
