package output

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"everstep/domain"
	"everstep/domain/enum"
)

const (
	// maxName bounds a format's name, as OpenAI does.
	maxName = 64
	// letters are what such a name is made of.
	letters     = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	defaultName = "final_answer"
)

// A Checker checks answers against one response format. It is safe for
// concurrent use.
type Checker struct {
	format domain.FormatType
	schema *Schema
}

// Compile returns the checker of a format. A format that cannot be checked is
// an error of kind Invalid or TooLarge that names the field, the place in the
// schema as a JSON pointer, and what to change. Nothing is fetched.
func Compile(format domain.ResponseFormat) (*Checker, error) {
	switch format.Type {
	case domain.FormatText, "":
		return &Checker{format: domain.FormatText}, nil
	case domain.FormatJSON:
		if len(format.Schema) > 0 {
			return nil, domain.Invalidf("response_format.schema: is only for type %s; leave it out, or change the type", domain.FormatSchema)
		}
		return &Checker{format: format.Type}, checkName(format.Name)
	case domain.FormatSchema:
	default:
		return nil, domain.Invalidf("response_format.type: there is no %s; give one of %v", quoted(string(format.Type)), enum.Known[domain.FormatType]())
	}
	if err := checkName(format.Name); err != nil {
		return nil, err
	}
	if len(format.Schema) == 0 {
		return nil, domain.Invalidf("response_format.schema: is missing; give one, or use type %s", domain.FormatJSON)
	}
	schema, err := compileSchema(format.Schema, false)
	if err != nil {
		kind := domain.Invalid
		if len(format.Schema) > MaxSchema {
			kind = domain.TooLarge
		}
		return nil, domain.Errorf(kind, "response_format.schema: %s", err)
	}
	return &Checker{format: format.Type, schema: schema}, nil
}

// checkName takes the names that providers take. There may be none.
func checkName(name string) error {
	if len(name) <= maxName && strings.Trim(name, letters) == "" {
		return nil
	}
	return domain.Invalidf("response_format.name: %s is not 1 to %d letters, digits, _ and -; choose another", quoted(name), maxName)
}

// NameOf makes the name of a format, as providers take it, of any text.
func NameOf(text string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(letters, r) {
			return r
		}
		return '_'
	}, text)
	return cmp.Or(strings.Trim(name[:min(len(name), maxName)], "_"), "answer")
}

// Check says what is wrong with an answer: nothing where it fits, else at most
// ten lines and 2 KB that a model may read, each with the JSON pointer of what
// it is about. The whole text must be one JSON value; white space around it
// does no harm.
func (c *Checker) Check(text string) (problems string) {
	const what = "the answer"
	switch c.format {
	case domain.FormatSchema:
		return c.schema.Problems(what, text)
	case domain.FormatJSON:
		v, problems := read(what, text)
		if kind := kindOf(v); problems == "" && kind != "object" {
			return "the answer must be a JSON object and is of type " + kind
		}
		return problems
	case domain.FormatText:
	}
	return ""
}

// Truncated is what to say of an answer that does not fit because the limit of
// its length cut it off.
func Truncated(problems string) string {
	return lines(append([]string{"the answer was cut off at the limit of output tokens; give a shorter one"}, strings.Split(problems, "\n")...))
}

// Tool returns the tool whose arguments are the answer, for agents with the
// given tools: its name is the format's, changed where a tool has it already.
func Tool(format domain.ResponseFormat, tools []domain.ToolSpec) domain.ToolSpec {
	base := cmp.Or(format.Name, defaultName)
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
