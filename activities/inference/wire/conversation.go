package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/output"
	"everstep/domain"
)

// A Pairing makes the ids of calls and results consistent in what is sent:
// models repeat ids within a message and over turns, and servers refuse that.
// What is recorded stays as it came. The zero value takes any id that is not
// empty. The same conversation gets the same ids each time.
type Pairing struct {
	// Accepts reports whether the API takes an id of that form, as one that
	// comes from another provider may not have. Nil takes all.
	Accepts func(id string) bool
	// Make returns an id of the API's own form. Nil: any form will do.
	Make func(n int) string

	used map[string]bool
	// waiting are the calls of the last message, sent their ids, answered those with a result.
	waiting  []domain.ToolCall
	sent     []string
	answered []bool
}

// Begin returns the ids under which the calls of the message at an index are sent.
func (p *Pairing) Begin(message int, calls []domain.ToolCall) []string {
	if len(calls) == 0 {
		return nil
	}
	if p.used == nil {
		p.used = make(map[string]bool)
	}
	ids := make([]string, len(calls))
	for k, c := range calls {
		id := c.ID
		if p.Accepts != nil && !p.Accepts(id) {
			id = ""
		}
		for try := 0; id == "" || p.used[id]; try++ {
			id = fmt.Sprintf("call_%d_%d", message, k)
			switch {
			case p.Make != nil:
				id = p.Make(len(p.used) + try + 1)
			case try > 0:
				id += fmt.Sprintf("_%d", try)
			}
		}
		ids[k], p.used[id] = id, true
	}
	p.Await(calls, ids)
	return ids
}

// Await says under which ids calls are sent, where the pairing does not choose them.
func (p *Pairing) Await(calls []domain.ToolCall, ids []string) {
	p.waiting, p.sent, p.answered = calls, ids, make([]bool, len(calls))
}

// Answer returns the id under which a result is sent: its call's, else the recorded one.
func (p *Pairing) Answer(recorded string) string {
	if k := p.Next(recorded); k >= 0 {
		return p.sent[k]
	}
	return recorded
}

// Next is the place of the call that a result answers: the first with the
// recorded id that has none yet, else the first that has none; -1: there is none.
func (p *Pairing) Next(recorded string) int {
	found := -1
	for k, call := range p.waiting {
		if !p.answered[k] && (found < 0 || call.ID == recorded && p.waiting[found].ID != recorded) {
			found = k
		}
	}
	if found >= 0 {
		p.answered[found] = true
	}
	return found
}

// ToolName is the name under which a call is sent back, of at most so many
// bytes: letters, digits, _ and -, and the characters that the API takes beside
// them. Models call tools by names that APIs refuse, even as history.
func ToolName(name string, most int, also string) string {
	also += "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(also, r) {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), most)]
}

// Arguments are a call's as they are sent back: an object, which APIs insist on, or one that shows
// under a key what is none, or is nested deeper than servers read.
func Arguments(text, key string) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return json.RawMessage("{}")
	case trimmed[0] == '{' && json.Valid([]byte(text)) && !deeper([]byte(text), maxDepth):
		return json.RawMessage(text)
	}
	return JSON(map[string]string{key: text})
}

// maxDepth is in how many objects and lists a value of arguments stands that all servers read: Google's take a hundred levels,
// and count two for a list.
const maxDepth = 39

// deeper reports whether a value in some JSON stands in more objects and lists than so many.
func deeper(data []byte, levels int) (is bool) {
	members(data, func(_, value []byte) { is = is || levels == 0 || deeper(value, levels-1) })
	return is
}

// GoOn is what the user says where an API wants a turn of the user and there is none.
const GoOn = "Continue."

// Instruction is an instruction of the operator's, set apart in a message of the user's. One without a text says nothing.
func Instruction(m domain.Message) domain.Message {
	if m.Blank() {
		return domain.Message{Role: domain.RoleUser}
	}
	return domain.UserMessage("<system>\n" + m.Text() + "\n</system>")
}

// Body writes a request's body: a list under its name, and then the other fields. The
// entries are encoded one by one, apart from what is around them: the SDKs go over a list
// once for each level of nesting, and write what is to go back byte for byte in their own
// way.
func Body[T json.Marshaler](name string, list []T, rest map[string]json.RawMessage) ([]byte, error) {
	var body bytes.Buffer
	fmt.Fprintf(&body, "{%q:[", name)
	for i, one := range list {
		text, err := one.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			body.WriteByte(',')
		}
		body.Write(text)
	}
	body.WriteByte(']')
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		fmt.Fprintf(&body, ",%s:%s", JSON(key), rest[key])
	}
	body.WriteByte('}')
	return body.Bytes(), nil
}

// Put sets a field of an object that is one of some fields, or is begun with it.
func Put(fields map[string]json.RawMessage, object, name string, value any) {
	inner := map[string]json.RawMessage{}
	_ = json.Unmarshal(fields[object], &inner) // it was checked, or is none
	inner[name] = JSON(value)
	fields[object] = JSON(inner)
}

// Fields are an SDK's parameters as JSON, with what the definition says of sampling, and options over them.
func Fields(parameters any, config domain.LLMConfig, options map[string]json.RawMessage) map[string]json.RawMessage {
	over := map[string]json.RawMessage{"stream": json.RawMessage("true")}
	for name, value := range map[string]*float64{"temperature": config.Temperature, "top_p": config.TopP} {
		over[name] = JSON(value) // a number, or null, which is left out
	}
	maps.Copy(over, options)
	return Over(parameters, over)
}

// Over are the fields of a value as JSON with options over them, a null one by leaving the field out.
func Over(value any, options map[string]json.RawMessage) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(JSON(value), &fields) // an object
	maps.Copy(fields, options)
	maps.DeleteFunc(fields, func(_ string, value json.RawMessage) bool { return IsNull(value) })
	return fields
}

// JSON encodes a value without the escapes that only matter inside of HTML. It panics where that cannot be done: all that is in a
// request was read from JSON, or is written with an SDK's types.
func JSON(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// Each writes the messages of a conversation, or the parts of one, and says at which of them it fails.
func Each[T any](what string, list []T, write func(int, T) error) error {
	for i, one := range list {
		if err := write(i, one); err != nil {
			return domain.Invalidf("%s %d: %s", what, i, err)
		}
	}
	return nil
}

// IsPlain reports whether a message has nothing but text.
func IsPlain(m domain.Message) bool {
	return !slices.ContainsFunc(m.Parts, func(p domain.Part) bool { return p.Type != domain.PartText })
}

// What OpenAI's two APIs share.

// AzuresDomain is that of the hosts that are as OpenAI's own.
const AzuresDomain = ".openai.azure.com"

// Format is the response format as Responses have it, with a name, where it is told so; else nil.
func Format(call inference.Call) map[string]any {
	switch f := call.Format; {
	case call.OutputMode != domain.OutputNative:
	case f.Type == domain.FormatJSON:
		return map[string]any{"type": "json_object"}
	case f.Type == domain.FormatSchema:
		strict := output.Strict(f.Schema) == nil
		return map[string]any{"type": "json_schema", "name": cmp.Or(f.Name, "answer"), "strict": strict, "schema": f.Schema}
	}
	return nil
}

// ToolChoice makes the model call the tool that stands for the response format, or
// another where there are others, as Responses have it, or nested, as chat
// completions do. Nil: as it likes.
func ToolChoice(call inference.Call, nested bool) any {
	name := map[string]any{"name": call.OutputTool}
	switch {
	case call.OutputTool == "":
		return nil
	case len(call.Tools) > 1:
		return "required"
	case nested:
		return map[string]any{"type": "function", "function": name}
	}
	name["type"] = "function"
	return name
}

// Parameters is a tool's schema as OpenAI's APIs want it: merged, and they refuse one of
// type object that does not say which properties it has, be it none.
func Parameters(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	schema, _ = output.Merged(schema)
	fields := Object(schema)
	if fields["properties"] != nil || string(fields["type"]) != `"object"` {
		return schema
	}
	fields["properties"] = json.RawMessage("{}")
	return JSON(fields)
}
