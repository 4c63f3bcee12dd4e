package agentfile_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/domain"
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
		f, err := agentfile.Load(path)
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
		"a date for a text",
	}
}

func TestSchemaRefusesWhatLoadRefuses(t *testing.T) {
	t.Parallel()
	_, schema := editorSchema(t)
	var accepted []string
	for _, b := range brokenAgents() {
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

// resolvedKeys are those of what is shown, as paths.
func resolvedKeys(of reflect.Type, at string, into map[string]bool) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return
	}
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		path := strings.TrimPrefix(at+"."+name, ".")
		into[path] = true
		resolvedKeys(field.Type, path, into)
	}
}

// readerKeys are those that Load names where it meets one that is unknown.
func readerKeys(t *testing.T, at, before, after string, into map[string]bool) {
	t.Helper()
	_, err := agentfile.Parse("a.yaml", []byte(before+"qqqqqqqq: 1"+after))
	problems, _ := errors.AsType[document.Problems](err)
	for _, p := range problems {
		list, ok := strings.CutPrefix(p.Message, "there is no such key; there are ")
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
	resolvedKeys(reflect.TypeFor[agentfile.Resolved](), "", shown)
	for _, limit := range domain.Limits() { // a map: each one that is set
		shown["budget."+string(limit)] = true
	}
	resolvedKeys(reflect.TypeFor[agentfile.Repetition](), "guards.repeated_calls", shown)
	resolvedKeys(reflect.TypeFor[agentfile.Format](), "response_format", shown)
	resolvedKeys(reflect.TypeFor[agentfile.Compaction](), "compaction", shown)
	for _, never := range []string{"subagents", "tools.allow", "tools.deny"} {
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
	require.Equal(t, wordsOf(domain.FinishReasons()), words(schema.Properties["guards"].Properties["finish_reasons"].Items.Enum))
	format := schema.Properties["response_format"].OneOf
	require.Equal(t, wordsOf([]domain.FormatType{domain.FormatText, domain.FormatJSON}), words(format[0].Enum))
	require.Equal(t, wordsOf(domain.OutputModes()), words(format[1].Properties["mode"].Enum))
	on := schema.Properties["fallbacks"].Items.OneOf[1].Properties["on"]
	require.Equal(t, wordsOf(domain.Failures()), words(on.Items.Enum))
	require.Equal(t, wordsOf(domain.Compilers()), words(schema.Properties["compiler"].Examples))
}

func wordsOf[E ~string](values []E) (texts []string) {
	for _, value := range values {
		texts = append(texts, string(value))
	}
	return texts
}

func TestSchemaHasTheDefaults(t *testing.T) {
	t.Parallel()
	schema, _ := editorSchema(t)
	f, err := agentfile.Parse("a.yaml", []byte("model: p/n\nfallbacks: [p/m]\n"))
	require.NoError(t, err)
	d := f.Resolve()
	is := func(want any, s *jsonschema.Schema) {
		t.Helper()
		raw, err := json.Marshal(want)
		require.NoError(t, err)
		require.JSONEq(t, string(raw), string(s.Default))
	}
	repetition := d.Guards.RepeatedCalls.(agentfile.Repetition)
	guards := schema.Properties["guards"].Properties
	is(repetition.Nudge, guards["repeated_calls"].OneOf[1].Properties["nudge_after"])
	is(repetition.Stop, guards["repeated_calls"].OneOf[1].Properties["stop_after"])
	is(d.Guards.OutputRetries, guards["output_retries"])
	is(d.Guards.FinalAnswer, guards["final_answer"])
	compaction := d.Compaction.(agentfile.Compaction)
	is(compaction.Trigger, schema.Properties["compaction"].OneOf[1].Properties["trigger_percent"])
	is(compaction.Target, schema.Properties["compaction"].OneOf[1].Properties["target_percent"])
	is(d.Retry.Attempts, schema.Properties["retry"].Properties["attempts"])
	is(d.Timeouts.Inference, schema.Properties["timeouts"].Properties["inference"])
	is(d.Timeouts.Tool, schema.Properties["timeouts"].Properties["tool"])
	is(d.Fallbacks[0].On, schema.Properties["fallbacks"].Items.OneOf[1].Properties["on"])
	is(d.Compiler, schema.Properties["compiler"])
	is(agentfile.DefaultFormatName, schema.Properties["response_format"].OneOf[1].Properties["name"])
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
