package output

import (
	"fmt"
	"iter"
	"maps"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A graph is a schema with its references followed.
type graph struct {
	root *jsonschema.Schema
	// old says that the schema is of draft-07, where $ref hides its neighbours.
	old      bool
	refs     map[*jsonschema.Schema]*jsonschema.Schema
	patterns map[string]expression
}

// An expression is a compiled regular expression and what a byte costs it.
type expression struct {
	*regexp.Regexp
	cost int
}

// maxSpread bounds how many schemas one value may have to be checked against.
const maxSpread = 20_000

func newGraph(root *jsonschema.Schema) (*graph, error) {
	g := &graph{root: root, old: strings.Contains(root.Schema, "draft-07"), refs: map[*jsonschema.Schema]*jsonschema.Schema{}, patterns: map[string]expression{}}
	index, places := map[string]*jsonschema.Schema{}, map[*jsonschema.Schema]*place{}
	g.each(root, nil, func(s *jsonschema.Schema, at *place) {
		index[at.pointer()], places[s] = s, at
		if s.Anchor != "" {
			index[s.Anchor] = s
		}
	})
	for s, at := range places {
		if s.Ref == "" {
			continue
		}
		pointer, err := url.PathUnescape(strings.TrimPrefix(s.Ref, "#"))
		if err != nil || index[pointer] == nil {
			return nil, mistake(at.key("$ref"), "refers to %s, and there is no schema", quoted(s.Ref))
		}
		g.refs[s] = index[pointer]
	}
	if err := g.compile(places); err != nil {
		return nil, err
	}
	w := &walk{graph: g, places: places, spread: map[*jsonschema.Schema]int{}, open: map[*jsonschema.Schema]bool{}}
	for _, pointer := range slices.Sorted(maps.Keys(index)) {
		if err := w.visit(index[pointer]); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *graph) each(s *jsonschema.Schema, at *place, visit func(*jsonschema.Schema, *place)) {
	visit(s, at)
	for at, child := range parts(s, at) {
		g.each(child, at, visit)
	}
}

func (g *graph) compile(places map[*jsonschema.Schema]*place) error {
	add := func(text string) error {
		if text == "" {
			return nil
		}
		compiled, err := regexp.Compile(text)
		if err != nil {
			return err
		}
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return err
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			return err
		}
		g.patterns[text] = expression{compiled, len(program.Inst)}
		return nil
	}
	for s := range places {
		if err := add(s.Pattern); err != nil {
			return err
		}
		for text := range s.PatternProperties {
			if err := add(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// A walk looks for references that lead back to where they began with nothing
// of the value consumed, and for schemas that unfold without measure.
type walk struct {
	*graph
	places map[*jsonschema.Schema]*place
	spread map[*jsonschema.Schema]int
	open   map[*jsonschema.Schema]bool
}

func (w *walk) visit(s *jsonschema.Schema) error {
	if w.open[s] {
		return fmt.Errorf("at %s: the schema refers to itself without end; let the reference go through properties or items", w.places[s])
	}
	if w.spread[s] > 0 {
		return nil
	}
	w.open[s] = true
	defer delete(w.open, s)
	spread := 1
	for next := range w.beside(s) {
		if err := w.visit(next); err != nil {
			return err
		}
		spread += w.spread[next]
	}
	if spread > maxSpread {
		return fmt.Errorf("at %s: one value would have to be checked against more than %d schemas; combine fewer of them", w.places[s], maxSpread)
	}
	w.spread[s] = spread
	return nil
}

// beside yields the schemas that a value of s must be checked against too.
func (g *graph) beside(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		if ref := g.refs[s]; ref != nil && !yield(ref) || g.old && ref != nil {
			return
		}
		for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, {s.Not, s.If, s.Then, s.Else},
			slices.Collect(maps.Values(s.DependentSchemas)), slices.Collect(maps.Values(s.DependencySchemas))} {
			for _, next := range list {
				if next != nil && !yield(next) {
					return
				}
			}
		}
	}
}

// parts yields the schemas that s is made of, with their places.
func parts(s *jsonschema.Schema, at *place) iter.Seq2[*place, *jsonschema.Schema] {
	type one = map[string]*jsonschema.Schema
	lists := map[string][]*jsonschema.Schema{"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf, "prefixItems": s.PrefixItems, "items": s.ItemsArray}
	groups := map[string]one{"$defs": s.Defs, "definitions": s.Definitions, "properties": s.Properties, "patternProperties": s.PatternProperties,
		"dependentSchemas": s.DependentSchemas, "dependencies": s.DependencySchemas}
	single := one{"items": s.Items, "additionalItems": s.AdditionalItems, "contains": s.Contains, "unevaluatedItems": s.UnevaluatedItems,
		"additionalProperties": s.AdditionalProperties, "propertyNames": s.PropertyNames, "unevaluatedProperties": s.UnevaluatedProperties,
		"not": s.Not, "if": s.If, "then": s.Then, "else": s.Else, "contentSchema": s.ContentSchema}
	return func(yield func(*place, *jsonschema.Schema) bool) {
		for word, list := range lists {
			for i, child := range list {
				if !yield(&place{at.key(word), strconv.Itoa(i)}, child) {
					return
				}
			}
		}
		for word, group := range groups {
			for key, child := range group {
				if !yield(at.key(word).key(key), child) {
					return
				}
			}
		}
		for word, child := range single {
			if child != nil && !yield(at.key(word), child) {
				return
			}
		}
	}
}
