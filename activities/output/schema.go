package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"everstep/domain/spelling"
)

const (
	// MaxSchema bounds a schema in bytes.
	MaxSchema = 100_000
	// MaxProperties bounds the properties in a schema, all levels together.
	MaxProperties = 5_000
	// MaxNesting bounds how deep schemas lie in a schema.
	MaxNesting = 32
	// maxSchemas bounds the schemas in a schema: what it costs to read them grows
	// with their square.
	maxSchemas = 10_000
	// maxSchemaDepth bounds the levels of a schema as JSON: two for each schema,
	// and some for the values in enum, const and default.
	maxSchemaDepth = 2*MaxNesting + 32
	maxDepth       = 512
	maxKey         = 200
)

// A Schema checks JSON texts. It is safe for concurrent use.
type Schema struct {
	root *jsonschema.Schema
	// beside holds for each schema those that its values must fit too.
	beside map[*jsonschema.Schema][]*jsonschema.Schema
	// declared holds the names of the properties that the schema at a place has.
	declared map[string][]string
}

// CompileSchema reads a schema of somebody else's, such as a tool's. Keywords
// that are not known are taken for annotations. Nothing is fetched.
func CompileSchema(text json.RawMessage) (*Schema, error) { return compileSchema(text, true) }

func compileSchema(text []byte, foreign bool) (s *Schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, errors.New("cannot be read; simplify it")
		}
	}()
	if len(text) > MaxSchema {
		return nil, fmt.Errorf("has %d bytes, more than %d; make it smaller", len(text), MaxSchema)
	}
	raw, err := parse(text, maxSchemaDepth)
	if err != nil {
		return nil, err
	}
	n := &inspection{foreign: foreign, draft: jsonschema.Draft2020, keywords: keywords(), places: map[string]bool{}}
	if err := n.inspect(raw); err != nil {
		return nil, err
	}
	const itself = "schema:///"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(n.draft)
	compiler.UseLoader(nil) // schemas are never fetched
	compiler.UseRegexpEngine(compilePattern)
	var root *jsonschema.Schema
	if err = compiler.AddResource(itself, raw); err == nil {
		root, err = compiler.Compile(itself)
	}
	if wrong, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		mistakes := explain(wrong.Err, raw, nil)
		for i, m := range mistakes {
			mistakes[i], _, _ = strings.Cut(m, byNearest) // alternatives of the metaschema
		}
		return nil, several(mistakes)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot be used: %s", shown(err.Error()))
	}
	s = &Schema{root: root, beside: map[*jsonschema.Schema][]*jsonschema.Schema{}, declared: map[string][]string{}}
	return s, s.measure()
}

// Problems says why a text is not one JSON value that fits the schema: nothing
// where it is, else at most ten lines and 2 KB that a model may read, each with
// the JSON pointer of what it is about. What names the text.
func (s *Schema) Problems(what, text string) (problems string) {
	defer func() {
		if p := recover(); p != nil {
			problems = what + " cannot be checked; give a simpler one"
		}
	}()
	v, problems := read(what, text)
	if problems != "" {
		return problems
	}
	if !s.affordable(v) {
		return what + " is too large or too deep to be checked against its schema; give a smaller one"
	}
	if err := s.root.Validate(v); err != nil {
		return lines(explain(err, v, s.declared))
	}
	return ""
}

func read(what, text string) (v any, problems string) {
	if strings.TrimSpace(text) == "" {
		return nil, what + " is empty; give one JSON value"
	}
	v, err := parse([]byte(text), maxDepth)
	if err == nil {
		return v, ""
	}
	advice := ""
	if _, ok := errors.AsType[unreadable](err); ok {
		switch text := strings.TrimSpace(text); {
		case strings.HasPrefix(text, "```"):
			advice = "; give the JSON value alone, without the Markdown fence (```) around it"
		case strings.ContainsAny(text, "{["):
			advice = "; give exactly one JSON value, with no text before or after it"
		default:
			advice = "; give exactly one JSON value and no other text"
		}
	}
	return nil, lines([]string{what + " " + err.Error() + advice})
}

// An inspection goes through a schema as it was written, for what the library
// and its metaschemas let pass: words that they do not know, references that
// lead elsewhere, and what costs too much to read.
type inspection struct {
	foreign  bool
	draft    *jsonschema.Draft
	keywords map[string]keyword
	mistakes []string
	// places are the pointers of all schemas and their anchors.
	places     map[string]bool
	schemas    int
	properties int
	references []reference
}

// A reference is a $ref that is still to be looked up.
type reference struct {
	at     place
	target string
}

// An expression is a regular expression, and what a byte costs it.
type expression struct {
	*regexp.Regexp
	cost int
}

func (n *inspection) inspect(raw any) error {
	if root, ok := raw.(map[string]any); ok {
		dialect, given := root["$schema"]
		switch dialect {
		case "https://json-schema.org/draft/2020-12/schema":
		case "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#":
			n.draft = jsonschema.Draft7
		default:
			if given && !n.foreign {
				return mistake(place{"$schema"}, "is %s; leave it out, or give https://json-schema.org/draft/2020-12/schema or http://json-schema.org/draft-07/schema#", brief(dialect))
			}
		}
		delete(root, "$schema")
	}
	n.schema(raw, nil, 0)
	for _, r := range n.references {
		fragment, local := strings.CutPrefix(r.target, "#")
		pointer, err := url.PathUnescape(fragment)
		switch {
		case !local: // nothing but the schema itself is ever looked into
			n.wrong(r.at, "refers to %s, outside of the schema; schemas are never fetched: copy it to $defs and write #/$defs/NAME", quoted(r.target))
		case err != nil, !n.places[pointer]:
			n.wrong(r.at, "refers to %s, and there is no schema; write #/$defs/NAME with a name that $defs has", quoted(r.target))
		}
	}
	return several(n.mistakes)
}

func (n *inspection) wrong(at place, format string, args ...any) {
	n.mistakes = append(n.mistakes, mistake(at, format, args...).Error())
}

// several is the error of some mistakes, on one line.
func several(mistakes []string) error {
	if len(mistakes) == 0 {
		return nil
	}
	return errors.New(strings.ReplaceAll(lines(mistakes), "\n", "; "))
}

func (n *inspection) schema(v any, at place, level int) {
	n.places[at.pointer()] = true
	n.schemas++
	schema, ok := v.(map[string]any)
	switch {
	case n.schemas == maxSchemas:
		n.wrong(at, "there are more than %d schemas in the schema; make it smaller", maxSchemas)
		return
	case level > MaxNesting:
		n.wrong(at, "schemas are nested deeper than %d levels; make it flatter, or refer to parts under $defs", MaxNesting)
		return
	case !ok || n.schemas > maxSchemas:
		return
	}
	for _, word := range sortedKeys(schema) {
		n.keyword(schema, word, at.step(word), level)
	}
}

func (n *inspection) keyword(schema map[string]any, word string, at place, level int) {
	k, known := n.keywords[word]
	v := schema[word]
	switch {
	case !known && !n.foreign && !strings.HasPrefix(word, "x-"):
		n.unknown(word, at)
	case k.fix != "" && k.draft != n.draft && (!n.foreign || k.holds == elsewhere):
		n.wrong(at, "is not taken; %s", k.fix)
		return
	}
	if limit, ok := v.(float64); ok && k.holds == count && limit > math.MaxInt32 {
		n.wrong(at, "is %s and may be at most %d", number(limit), math.MaxInt32)
	}
	switch text := text(v); {
	case k.holds == schemas:
		n.inside(v, at, level)
	case k.holds == named:
		n.members(word, v, at, level)
	case word == "pattern":
		n.compile(text, at)
	case word == "$anchor":
		if n.places[text] {
			n.wrong(at, "%s is there twice; rename one", quoted(text))
		}
		n.places[text] = true
	case word == "$ref":
		n.references = append(n.references, reference{at, text})
	case word == "$id", word == "format" && n.draft == jsonschema.Draft7:
		delete(schema, word) // format is an annotation in each draft
	case word == "$schema":
		n.wrong(at, "is only taken at the root; leave it out")
	}
}

func (n *inspection) unknown(word string, at place) {
	lower, hint := map[string]string{}, "check its spelling, or begin it with x- if it is for people only"
	for name := range n.keywords {
		lower[strings.ToLower(name)] = name
	}
	if near, ok := spelling.Nearest(word, sortedKeys(lower)); ok {
		hint = fmt.Sprintf("did you mean %q?", lower[near])
	}
	n.wrong(at, "there is no such keyword; %s", hint)
}

// inside goes into the schema or the list of schemas that a keyword holds.
func (n *inspection) inside(v any, at place, level int) {
	list, ok := v.([]any)
	if !ok {
		n.schema(v, at, level+1)
		return
	}
	if at[len(at)-1] == "items" && n.draft == jsonschema.Draft2020 {
		n.wrong(at, "is a list; write prefixItems, or give $schema as draft-07")
	}
	for i, item := range list {
		n.schema(item, at.step(fmt.Sprint(i)), level+1)
	}
}

func (n *inspection) members(word string, v any, at place, level int) {
	members := asMap(v)
	if word == "properties" {
		if n.properties += len(members); n.properties > MaxProperties {
			n.wrong(at, "the schema has more than %d properties; make it smaller", MaxProperties)
			return
		}
	}
	for _, key := range sortedKeys(members) {
		if len(key) > maxKey {
			n.wrong(at.step(key), "the name has %d bytes, more than %d; shorten it", len(key), maxKey)
		}
		if word == "patternProperties" {
			n.compile(key, at.step(key))
		}
		if _, names := members[key].([]any); !names {
			n.schema(members[key], at.step(key), level+1)
		}
	}
}

func (n *inspection) compile(text string, at place) {
	if _, err := compilePattern(text); err != nil {
		n.wrong(at, "is no regular expression that can be used: %s; it is read as RE2, without look-around", shown(err.Error()))
	}
}

// compilePattern is how the library compiles regular expressions, too.
func compilePattern(text string) (jsonschema.Regexp, error) {
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	parsed, _ := syntax.Parse(text, syntax.Perl) // as it was compiled
	program, _ := syntax.Compile(parsed.Simplify())
	return &expression{compiled, len(program.Inst)}, nil
}

// holds says what a keyword holds that has to be looked into.
type holds int

const (
	// other values are checked by the library's metaschemas.
	other holds = iota
	schemas
	// named are schemas, or lists of names, by names.
	named
	// count is a whole number, amount any number, words a text, truth true or false.
	count
	amount
	words
	truth
	// elsewhere is what may lead to other schemas.
	elsewhere
)

// A keyword is what is known of a word in a schema.
type keyword struct {
	holds holds
	// draft is the only one that has the keyword, where fix is set: that says
	// what to write otherwise.
	draft *jsonschema.Draft
	fix   string
}

func keywords() map[string]keyword {
	all := map[string]keyword{}
	for _, group := range []struct {
		words string
		keyword
	}{
		{"type required enum const pattern $schema default examples", keyword{}},
		{"example discriminator externalDocs markdownDescription enumNames enumDescriptions propertyOrdering", keyword{}},
		{"minimum maximum exclusiveMinimum exclusiveMaximum multipleOf", keyword{holds: amount}},
		{"title description $comment format contentEncoding contentMediaType $ref", keyword{holds: words}},
		{"uniqueItems readOnly writeOnly deprecated", keyword{holds: truth}},
		{"minLength maxLength minItems maxItems minProperties maxProperties", keyword{holds: count}},
		{"items additionalProperties propertyNames contains not if then else allOf anyOf oneOf", keyword{holds: schemas}},
		{"properties patternProperties $defs definitions", keyword{holds: named}},

		{"prefixItems", keyword{schemas, jsonschema.Draft2020, "in draft-07 write items"}},
		{"unevaluatedItems unevaluatedProperties", keyword{schemas, jsonschema.Draft2020, "draft-07 does not have it: leave out $schema"}},
		{"contentSchema", keyword{schemas, jsonschema.Draft2020, "draft-07 does not have it: leave it out"}},
		{"minContains maxContains", keyword{count, jsonschema.Draft2020, "draft-07 does not have it: leave out $schema"}},
		{"dependentRequired dependentSchemas", keyword{named, jsonschema.Draft2020, "in draft-07 write dependencies"}},
		{"$anchor", keyword{words, jsonschema.Draft2020, "draft-07 does not have it: refer with #/definitions/NAME"}},
		{"dependencies", keyword{named, jsonschema.Draft7, "write dependentRequired or dependentSchemas"}},
		{"additionalItems", keyword{schemas, jsonschema.Draft7, "write prefixItems for the first items and items for the others"}},

		{"$id", keyword{fix: "leave it out; refer inside the schema with #/$defs/NAME"}},
		{"$dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor", keyword{holds: elsewhere, fix: "give the schema a place under $defs and refer to it with $ref"}},
		{"$vocabulary id", keyword{fix: "leave it out"}},
		{"nullable", keyword{fix: `write "type": ["…", "null"]`}},
	} {
		for _, word := range strings.Fields(group.words) {
			all[word] = group.keyword
		}
	}
	return all
}
