package agentfile_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/domain"
	"everstep/domain/enum"
	"everstep/starter/agentfile"
)

func editorSchema(t *testing.T) (*jsonschema.Schema, *jsonschema.Resolved) {
	t.Helper()
	raw, err := json.Marshal(agentfile.Schema())
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(raw, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	return &schema, resolved
}

// plainValue is a file's YAML as an editor sees it.
func plainValue(t *testing.T, path string, text []byte) (value any, ok bool) {
	t.Helper()
	if strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".markdown") {
		parts := strings.SplitN(string(text), "---\n", 3)
		if len(parts) < 3 {
			return nil, false
		}
		text = []byte(parts[1])
	}
	if yaml.Unmarshal(text, &value) != nil {
		return nil, false
	}
	raw, err := json.Marshal(value) // dates become texts, as editors have it
	if err != nil {
		return nil, false
	}
	require.NoError(t, json.Unmarshal(raw, &value))
	return value, true
}

func TestSchemaTakesWhatLoadTakes(t *testing.T) {
	t.Parallel()
	_, schema := editorSchema(t)
	for _, path := range validFiles(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		value, ok := plainValue(t, path, text)
		require.True(t, ok)
		require.NoError(t, schema.Validate(value), path)
		f, err := agentfile.Settings{}.Load(path)
		require.NoError(t, err)
		shown, err := f.Resolve().YAML()
		require.NoError(t, err)
		value, ok = plainValue(t, "shown.yaml", shown)
		require.True(t, ok)
		require.NoError(t, schema.Validate(value), "%s", shown)
	}
}

// beyondTheSchema are mistakes that an editor's schema cannot see. Some, such as
// a key twice, an editor sees by itself.
func beyondTheSchema() []string {
	return []string{
		"a second document", "front matter in YAML", "a merge key", "system prompt twice", "system prompt too long", "an address with a password",
		"a price in the wrong unit", "too many tokens", "a cost with an exponent",
		"a cost too fine", "a cost too large", "a deadline without a zone", "a deadline in words", "denied but not allowed",
		"a nudge after the stop", "a schema with a type that is none", "a schema that is elsewhere", "a schema of numbers",
		"a schema file that is not there", "a schema file above", "a schema file by its full path",
		"a schema file behind a link", "a schema file that is a folder", "a schema file that is broken",
		"a schema file that is too large", "a compiler that is none", "sections without their compiler",
		"a compiler without its sections", "a target above the trigger", "a window in hexadecimal", "a tag",
		"a date for a text", "a sub-agent without its file", "a sub-agent in a file and here", "a sub-agent with a name that is none",
		"an agent as a tool without its file", "an agent as a tool with a name that is none", "an agent as a tool, and not",
		"an agent as a tool of which nothing is said", "an agent as a tool that it is itself", "an agent with the name of a tool",
		"an agent with the name of what starts others",
		"a hand-off to nobody", "a hand-off to itself", "a hand-off of which nothing is said", "a hand-off that is a tool",
	}
}

func TestSchemaRefusesWhatLoadRefuses(t *testing.T) {
	t.Parallel()
	_, schema := editorSchema(t)
	var accepted []string
	for _, b := range brokenAgents(t) {
		if value, ok := plainValue(t, b.file, []byte(b.text)); ok && value != nil && schema.Validate(value) == nil {
			accepted = append(accepted, b.name)
		}
	}
	require.ElementsMatch(t, beyondTheSchema(), accepted)
}

// schemaKeys are the keys of a schema's mappings, as paths.
func schemaKeys(root, s *jsonschema.Schema, at string, into map[string]bool) {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		schemaKeys(root, root.Defs[name], at, into)
	}
	for name, property := range s.Properties {
		path := strings.TrimPrefix(at+"."+name, ".")
		into[path] = true
		schemaKeys(root, property, path, into)
	}
	for _, one := range s.OneOf {
		schemaKeys(root, one, at, into)
	}
	if s.Items != nil {
		schemaKeys(root, s.Items, at, into)
	}
}

// shownKeys are those of what is shown, as paths.
func shownKeys(value any, at string, into map[string]bool) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			shownKeys(item, at, into)
		}
	case map[string]any:
		for name, inner := range value {
			path := strings.TrimPrefix(at+"."+name, ".")
			into[path] = true
			if name != "options" && name != "schema" && name != "arguments" && name != "trusted" { // of any form
				shownKeys(inner, path, into)
			}
		}
	}
}

// readerKeys are those that Load names where it meets one that is unknown.
func readerKeys(t *testing.T, at, before, after string, into map[string]bool) {
	t.Helper()
	_, err := agentfile.Settings{}.Parse("a.yaml", []byte(before+"qqqqqqqq: 1"+after))
	problems, _ := errors.AsType[document.Problems](err)
	for _, p := range problems {
		list, ok := strings.CutPrefix(p.Message, "there is no such key; there are ")
		if at == "" && strings.HasPrefix(p.Message, "there is no such key; `starter help") {
			list, ok = strings.Join(agentfile.Schema().PropertyOrder, ", "), true
		}
		if !ok {
			continue
		}
		for _, name := range strings.Split(list, ", ") {
			path := strings.TrimPrefix(at+"."+name, ".")
			if !into[path] {
				into[path] = true
				readerKeys(t, path, before+name+": {", "}"+after, into)
				readerKeys(t, path, before+name+": [{", "}]"+after, into)
			}
		}
	}
}

func TestSchemaHasTheReadersKeys(t *testing.T) {
	t.Parallel()
	schema, _ := editorSchema(t)
	ofSchema, ofReader := map[string]bool{}, map[string]bool{}
	schemaKeys(schema, schema, "", ofSchema)
	readerKeys(t, "", "{", "}", ofReader)
	require.Equal(t, slices.Sorted(maps.Keys(ofSchema)), slices.Sorted(maps.Keys(ofReader)))
	require.Contains(t, ofReader, "model.price.long.above_tokens")
	require.Contains(t, ofReader, "guards.repeated_calls.nudge_after")
	require.Contains(t, ofReader, "fallbacks.model.price.long.above_tokens")
	require.Contains(t, ofReader, "fallbacks.on")

	shown := map[string]bool{}
	for _, path := range validFiles(t) { // together they give every key
		f, err := agentfile.Settings{}.Load(path)
		require.NoError(t, err)
		f.Definition.Fallbacks = append(f.Definition.Fallbacks, domain.Fallback{Model: f.Definition.Model})
		raw, err := json.Marshal(f.Resolve())
		require.NoError(t, err)
		var value any
		require.NoError(t, json.Unmarshal(raw, &value))
		shownKeys(value, "", shown)
	}
	maps.DeleteFunc(shown, func(key string, _ bool) bool {
		return strings.HasPrefix(key, "subagents.") || strings.HasPrefix(key, "agents.") || strings.HasPrefix(key, "handoffs.")
	}) // names are the user's
	for _, never := range []string{"tools.allow", "tools.deny"} {
		require.NotContains(t, shown, never)
		shown[never] = true
	}
	require.Equal(t, slices.Sorted(maps.Keys(ofSchema)), slices.Sorted(maps.Keys(shown)))
}

func TestSchemaHasTheWords(t *testing.T) {
	t.Parallel()
	schema, _ := editorSchema(t)
	words := func(values []any) (texts []string) {
		for _, value := range values {
			texts = append(texts, value.(string))
		}
		return texts
	}
	require.Equal(t, wordsOf(enum.Known[domain.FinishReason]()), words(schema.Properties["guards"].Properties["finish_reasons"].Items.Enum))
	format := schema.Properties["response_format"].OneOf
	require.Equal(t, wordsOf([]domain.FormatType{domain.FormatText, domain.FormatJSON}), words(format[0].Enum))
	require.Equal(t, wordsOf(enum.Known[domain.OutputMode]()), words(format[1].Properties["mode"].Enum))
	on := schema.Properties["fallbacks"].Items.OneOf[1].Properties["on"]
	require.Equal(t, wordsOf(enum.Known[domain.Failure]()), words(on.Items.Enum))
	require.Equal(t, wordsOf(domain.Compilers()), words(schema.Properties["compiler"].Examples))
}

func wordsOf[E ~string](values []E) (texts []string) {
	for _, value := range values {
		texts = append(texts, string(value))
	}
	return texts
}

// keyList is the list of all keys in the help page, one an item: what a key is
// for, and what holds where it is not given. A model's keys stand there once.
func keyList(s *jsonschema.Schema, at string, b *strings.Builder) {
	for _, one := range s.OneOf {
		keyList(one, at, b)
	}
	if s.Items != nil {
		keyList(s.Items, at, b)
	}
	names := slices.SortedFunc(maps.Keys(s.Properties), func(x, y string) int {
		return cmp.Compare(slices.Index(s.PropertyOrder, x), slices.Index(s.PropertyOrder, y))
	})
	for _, name := range names {
		property := s.Properties[name]
		line := "- `" + at + name + "`"
		if property.Description != "" {
			line += ": " + property.Description
		}
		if property.Default != nil {
			line += " Unless given: `" + string(property.Default) + "`."
		}
		for len(line) > 118 {
			end := strings.LastIndex(line[:118], " ")
			b.WriteString(line[:end] + "\n")
			line = "  " + line[end+1:]
		}
		b.WriteString(line + "\n")
		if at+name != "fallbacks.model" {
			keyList(property, at+name+".", b)
		}
	}
}

// TestHelpHasTheKeys: the help page lists what the table of keys says of each.
func TestHelpHasTheKeys(t *testing.T) {
	t.Parallel()
	const page, title = "../help/agent-files.md", "## Every key\n\n"
	var list strings.Builder
	keyList(agentfile.Schema(), "", &list)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, after, ok := strings.Cut(string(text), title)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+title+list.String()), 0o600))
		return
	}
	require.Equal(t, list.String(), after, "write it anew with -update")
}
