package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"everstep/domain"
)

const (
	// MaxSchema bounds a schema in bytes.
	MaxSchema = 100_000
	// MaxProperties bounds the properties in a schema, all levels together.
	MaxProperties = 5_000
	// MaxNesting bounds how deep schemas lie in a schema.
	MaxNesting = 32
	// maxSchemaDepth bounds the levels of a schema as JSON: two for each schema,
	// and some for the values in enum, const and default.
	maxSchemaDepth = 2*MaxNesting + 32
	// maxDepth bounds the levels of an answer.
	maxDepth = 512
	// maxName bounds a format's name, as OpenAI does.
	maxName = 64
)

// A Checker checks answers against one response format. It is safe for
// concurrent use.
type Checker struct {
	format   domain.FormatType
	resolved *jsonschema.Resolved
	graph    *graph
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
			return nil, domain.Errorf(domain.Invalid, "response_format.schema: is only for type %s; leave it out, or change the type", domain.FormatSchema)
		}
		return &Checker{format: format.Type}, checkName(format.Name)
	case domain.FormatSchema:
	default:
		return nil, domain.Errorf(domain.Invalid, "response_format.type: there is no %s; give one of %v", quoted(string(format.Type)), domain.FormatTypes())
	}
	if err := checkName(format.Name); err != nil {
		return nil, err
	}
	if len(format.Schema) == 0 {
		return nil, domain.Errorf(domain.Invalid, "response_format.schema: is missing; give one, or use type %s", domain.FormatJSON)
	}
	if len(format.Schema) > MaxSchema {
		return nil, domain.Errorf(domain.TooLarge, "response_format.schema: has %d bytes, more than %d; make it smaller", len(format.Schema), MaxSchema)
	}
	c, err := compile(format.Schema)
	if err != nil {
		return nil, domain.Errorf(domain.Invalid, "response_format.schema: %s", err)
	}
	return c, nil
}

// checkName takes the names that providers take. There may be none.
func checkName(name string) error {
	if len(name) <= maxName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return nil
	}
	return domain.Errorf(domain.Invalid, "response_format.name: %s is not 1 to %d letters, digits, _ and -; choose another", quoted(name), maxName)
}

func compile(text []byte) (c *Checker, err error) {
	defer func() {
		if p := recover(); p != nil {
			c, err = nil, errors.New("cannot be read; simplify it")
		}
	}()
	raw, err := parse(text, maxSchemaDepth)
	if err != nil {
		return nil, err
	}
	if err := inspect(raw); err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("cannot be read: %s", shown(err.Error()))
	}
	graph, err := newGraph(&schema)
	if err != nil {
		return nil, err
	}
	resolved, err := schema.Resolve(&jsonschema.ResolveOptions{Loader: refuse})
	if err != nil {
		return nil, fmt.Errorf("cannot be used: %s", shown(err.Error()))
	}
	return &Checker{format: domain.FormatSchema, resolved: resolved, graph: graph}, nil
}

// refuse is the library's way to other schemas: there is none.
func refuse(*url.URL) (*jsonschema.Schema, error) {
	return nil, errors.New("schemas are never fetched")
}

// Check says what is wrong with an answer: nothing where it fits, else at most
// ten lines and 2 KB that a model may read, each with the JSON pointer of what
// it is about. The whole text must be one JSON value; white space around it
// does no harm.
func (c *Checker) Check(text string) (problems string) {
	if c.format == domain.FormatText {
		return ""
	}
	defer func() {
		if p := recover(); p != nil {
			problems = "the answer cannot be checked; give a simpler one"
		}
	}()
	if strings.TrimSpace(text) == "" {
		return "the answer is empty; give one JSON value"
	}
	v, err := parse([]byte(text), maxDepth)
	if err != nil {
		return lines([]string{"the answer " + err.Error() + advice(text, err)}, 0)
	}
	if c.format == domain.FormatJSON {
		if kind := v.kind(); kind != "object" {
			return "the answer must be a JSON object and is of type " + kind
		}
		return ""
	}
	if !c.graph.affordable(v) {
		return "the answer is too large or too deep to be checked against its schema; give a smaller one"
	}
	if c.resolved.Validate(v.plain) == nil {
		return ""
	}
	return c.graph.explain(v)
}

// Truncated is what to say of an answer that does not fit because the limit of
// its length cut it off.
func Truncated(problems string) string {
	return lines(append([]string{"the answer was cut off at the limit of output tokens; give a shorter one"}, strings.Split(problems, "\n")...), 0)
}

// advice says what to do about a text that is no JSON value.
func advice(text string, err error) string {
	text = strings.TrimSpace(text)
	switch e, ok := errors.AsType[*syntaxError](err); {
	case !ok || !e.unreadable:
		return ""
	case strings.HasPrefix(text, "```"):
		return "; give the JSON value alone, without the Markdown fence (```) around it"
	case strings.ContainsAny(text, "{["):
		return "; give exactly one JSON value, with no text before or after it"
	}
	return "; give exactly one JSON value and no other text"
}
