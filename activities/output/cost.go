package output

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	maxSpread = 20_000
	// maxWork bounds a check: one is about a microsecond and, where a value does
	// not fit, some hundred bytes.
	maxWork = 2_000_000
	// maxStack bounds how many schemas are open at once: a stack that is used up
	// would end the process.
	maxStack = 5_000
)

// measure goes through all that a schema is made of. It looks for references
// that lead back to where they began with nothing of the value consumed, and for
// schemas that unfold without measure.
func (s *Schema) measure() error {
	spread := map[*jsonschema.Schema]int{}
	todo, seen := []*jsonschema.Schema{s.root}, map[*jsonschema.Schema]bool{nil: true}
	for i := 0; i < len(todo); i++ {
		next := todo[i]
		if seen[next] {
			continue
		}
		seen[next] = true
		if len(next.Properties) > 0 {
			s.declared[next.Location] = sortedKeys(next.Properties)
		}
		if err := s.unfold(next, spread); err != nil {
			return err
		}
		todo = append(append(todo, s.beside[next]...), inside(next)...)
		if next.PropertyNames != nil {
			next.Extensions = append(next.Extensions, propertyNames{next.PropertyNames})
			next.PropertyNames = nil
		}
	}
	return nil
}

// propertyNames checks the names of properties as the library does, which tells
// the wrong place: the one that it has come to when all is done.
type propertyNames struct{ schema *jsonschema.Schema }

func (p propertyNames) Validate(ctx *jsonschema.ValidatorContext, v any) {
	for name := range asMap(v) {
		if p.schema.Validate(name) != nil {
			ctx.AddError(&kind.PropertyNames{Property: name})
		}
	}
}

// unfold counts against how many schemas a value of one is checked, itself included; -1: they are being counted.
func (s *Schema) unfold(one *jsonschema.Schema, spread map[*jsonschema.Schema]int) error {
	switch known := spread[one]; {
	case known < 0:
		return fmt.Errorf("at %s: the schema refers to itself without end; let the reference go through properties or items", placeOf(one))
	case known > 0:
		return nil
	}
	spread[one] = -1
	s.beside[one] = beside(one)
	sum := 1
	for _, next := range s.beside[one] {
		if err := s.unfold(next, spread); err != nil {
			return err
		}
		sum += spread[next]
	}
	if sum > maxSpread {
		return fmt.Errorf("at %s: one value would have to be checked against more than %d schemas; combine fewer of them", placeOf(one), maxSpread)
	}
	spread[one] = sum
	return nil
}

func placeOf(s *jsonschema.Schema) string {
	_, fragment, _ := strings.Cut(s.Location, "#")
	if pointer, err := url.PathUnescape(fragment); err == nil && pointer != "" {
		return shown(pointer)
	}
	return "the root"
}

func present(all ...*jsonschema.Schema) []*jsonschema.Schema {
	return slices.DeleteFunc(all, func(s *jsonschema.Schema) bool { return s == nil })
}

// beside returns the schemas that a value of s must be checked against too.
func beside(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Concat(present(s.Ref, s.Not, s.If, s.Then, s.Else), s.AllOf, s.AnyOf, s.OneOf)
	for _, name := range sortedKeys(s.DependentSchemas) {
		all = append(all, s.DependentSchemas[name])
	}
	for _, name := range sortedKeys(s.Dependencies) {
		all = append(all, one(s.Dependencies[name])...)
	}
	return all
}

// inside returns the schemas that parts of a value of s must be checked against.
func inside(s *jsonschema.Schema) []*jsonschema.Schema {
	first, rest := items(s)
	return slices.Concat(first, rest, one(s.AdditionalProperties), present(s.Contains, s.UnevaluatedProperties, s.PropertyNames),
		slices.Collect(maps.Values(s.Properties)), slices.Collect(maps.Values(s.PatternProperties)))
}

// items returns the schemas of the first items of a list, one each, and those of
// all others.
func items(s *jsonschema.Schema) (first, rest []*jsonschema.Schema) {
	first, rest = s.PrefixItems, present(s.Items2020, s.UnevaluatedItems)
	if list, ok := s.Items.([]*jsonschema.Schema); ok {
		first = list
	}
	return first, slices.Concat(rest, one(s.Items), one(s.AdditionalItems))
}

// one is the schema in a field that may hold other things.
func one(field any) []*jsonschema.Schema {
	s, _ := field.(*jsonschema.Schema)
	return present(s)
}

// A bill is what a check may still cost.
type bill struct {
	*Schema
	work int
}

// affordable reports whether a value can be checked in reasonable time. It
// counts what the library would do if it never stopped at the first mistake.
func (s *Schema) affordable(v any) bool {
	b := &bill{Schema: s, work: maxWork}
	b.visit(s.root, v, 0)
	return b.work >= 0
}

// visit counts one schema on one value, with so many others open around it.
func (b *bill) visit(s *jsonschema.Schema, v any, open int) {
	if b.work -= 1 + open/16; open > maxStack {
		b.work = -1
	}
	if b.work < 0 {
		return
	}
	if s.Enum != nil {
		b.work -= len(s.Enum.Values)
	}
	for _, next := range b.beside[s] {
		b.visit(next, v, open+1)
	}
	switch v := v.(type) {
	case string:
		if b.work -= len(v) / 1024; s.Pattern != nil {
			b.match(s.Pattern, v)
		}
	case []any:
		b.list(s, v, open+1)
	case map[string]any:
		b.members(s, v, open+1)
	}
}

func (b *bill) list(s *jsonschema.Schema, list []any, open int) {
	b.work -= len(list) / 8
	if s.UniqueItems { // those that are lists or objects may have to be compared one with each other
		composite := 0
		for _, item := range list {
			switch item.(type) {
			case []any, map[string]any:
				composite++
			}
		}
		b.work -= len(list) + composite*composite/32
	}
	first, rest := items(s)
	contained := present(s.Contains)
	for i, item := range list {
		next := rest
		if i < len(first) {
			next = first[i : i+1]
		}
		for _, s := range slices.Concat(next, contained) {
			b.visit(s, item, open)
		}
	}
}

func (b *bill) members(s *jsonschema.Schema, object map[string]any, open int) {
	b.work -= len(object)
	for key, member := range object {
		if b.work < 0 {
			return
		}
		all := present(s.Properties[key])
		for pattern, next := range s.PatternProperties {
			if b.match(pattern, key) {
				all = append(all, next)
			}
		}
		if len(all) == 0 {
			all = one(s.AdditionalProperties)
		}
		for _, s := range append(all, present(s.UnevaluatedProperties)...) {
			b.visit(s, member, open)
		}
		for _, names := range s.Extensions {
			b.visit(names.(propertyNames).schema, key, open)
		}
	}
}

// match counts what a regular expression costs, and says whether it matches,
// where that is still affordable.
func (b *bill) match(pattern jsonschema.Regexp, text string) bool {
	b.work -= 1 + (len(text)+1)*pattern.(*expression).cost/64
	return b.work >= 0 && pattern.MatchString(text)
}
