package output

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A report collects what is wrong with a value, place by place.
type report struct {
	*graph
	lines []string
	more  int
	// weight says how far the value is from fitting, to find the nearest of
	// several alternatives.
	weight int
}

const (
	// heavy is the weight of a value of the wrong type, and telling that of one
	// that is not the one to be: such a property tells alternatives apart.
	heavy   = 1000
	telling = 10
)

// explain says why a value does not fit, which the library has found.
func (g *graph) explain(v *value) string {
	r := &report{graph: g}
	r.visit(g.root, v, nil)
	if len(r.lines) == 0 {
		return "the answer does not fit its schema: it has properties or items that no part of the schema allows"
	}
	return lines(r.lines, r.more)
}

func (r *report) add(weight int, at *place, format string, args ...any) {
	r.weight += weight
	if len(r.lines) >= maxLines {
		r.more++
		return
	}
	r.lines = append(r.lines, fmt.Sprintf("at %s: ", at)+fmt.Sprintf(format, args...))
}

// try reports on a value by itself.
func (r *report) try(s *jsonschema.Schema, v *value, at *place) *report {
	own := &report{graph: r.graph}
	own.visit(s, v, at)
	return own
}

func (r *report) fits() bool { return len(r.lines) == 0 }

func (r *report) visit(s *jsonschema.Schema, v *value, at *place) {
	if ref := r.refs[s]; ref != nil {
		r.visit(ref, v, at)
		if r.old {
			return
		}
	}
	if !r.typed(s, v, at) {
		return
	}
	r.same(s, v, at)
	r.measures(s, v, at)
	for _, all := range s.AllOf {
		r.visit(all, v, at)
	}
	r.alternatives(s.AnyOf, v, at, false)
	r.alternatives(s.OneOf, v, at, true)
	if s.Not != nil && r.try(s.Not, v, at).fits() {
		r.add(1, at, "is what the schema excludes")
	}
	r.condition(s, v, at)
	if _, ok := v.plain.([]any); ok {
		r.items(s, v, at)
	}
	if v.fields != nil {
		r.object(s, v, at)
	}
}

// typed reports whether the value is of a type that the schema takes. If not,
// there is nothing more to say of it.
func (r *report) typed(s *jsonschema.Schema, v *value, at *place) bool {
	wanted := s.Types
	if s.Type != "" {
		wanted = []string{s.Type}
	}
	kind := v.kind()
	if wanted == nil || slices.Contains(wanted, kind) || kind == "integer" && slices.Contains(wanted, "number") {
		return true
	}
	r.add(heavy, at, "must be of type %s and is of type %s", strings.Join(wanted, " or "), kind)
	return false
}

// same checks enum and const.
func (r *report) same(s *jsonschema.Schema, v *value, at *place) {
	if s.Const != nil && !jsonschema.Equal(*s.Const, v.plain) {
		r.add(telling, at, "must be %s and is %s", print(*s.Const), print(v.plain))
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return jsonschema.Equal(e, v.plain) }) {
		var names []string
		for _, e := range s.Enum[:min(len(s.Enum), 8)] {
			names = append(names, print(e))
		}
		if more := len(s.Enum) - len(names); more > 0 {
			names = append(names, fmt.Sprintf("or %d others", more))
		}
		r.add(telling, at, "is %s and must be one of %s", print(v.plain), strings.Join(names, ", "))
	}
}

// alternatives checks anyOf and oneOf. Where none fits, what is wrong with the
// nearest one says most.
func (r *report) alternatives(list []*jsonschema.Schema, v *value, at *place, one bool) {
	var best *report
	fitting := 0
	for _, s := range list {
		tried := r.try(s, v, at)
		if tried.fits() {
			fitting++
			continue
		}
		if best == nil || tried.weight < best.weight {
			best = tried
		}
	}
	switch {
	case fitting == 0 && best != nil && best.weight >= heavy && len(list) > 1:
		r.add(heavy, at, "is of type %s and fits none of the %d alternatives", v.kind(), len(list))
	case fitting == 0 && best != nil:
		for _, line := range best.lines {
			if len(list) > 1 {
				line += fmt.Sprintf(" (by the nearest of %d alternatives)", len(list))
			}
			if len(r.lines) < maxLines {
				r.lines = append(r.lines, line)
			} else {
				r.more++
			}
		}
		r.weight, r.more = r.weight+best.weight, r.more+best.more
	case one && fitting > 1:
		r.add(1, at, "fits %d of the %d alternatives and may fit only one", fitting, len(list))
	}
}

func (r *report) condition(s *jsonschema.Schema, v *value, at *place) {
	if s.If == nil {
		return
	}
	next := s.Else
	if r.try(s.If, v, at).fits() {
		next = s.Then
	}
	if next != nil {
		r.visit(next, v, at)
	}
}

func (r *report) items(s *jsonschema.Schema, v *value, at *place) {
	first, rest := s.PrefixItems, s.Items
	if r.old && s.ItemsArray != nil {
		first, rest = s.ItemsArray, s.AdditionalItems
	}
	found := 0
	for i, item := range v.list {
		place := at.item(i)
		switch {
		case i < len(first):
			r.visit(first[i], item, place)
		case rest != nil:
			r.visit(rest, item, place)
		}
		if s.Contains != nil && r.try(s.Contains, item, place).fits() {
			found++
		}
	}
	if s.Contains != nil {
		r.contains(s, found, at)
	}
	r.size(at, "items", len(v.list), s.MinItems, s.MaxItems)
	if s.UniqueItems {
		r.unique(v, at)
	}
}

func (r *report) contains(s *jsonschema.Schema, found int, at *place) {
	least := 1
	if s.MinContains != nil {
		least = *s.MinContains
	}
	if found < least {
		r.add(1, at, "must have %d items of the kind that contains describes and has %d", least, found)
	}
	if s.MaxContains != nil && found > *s.MaxContains {
		r.add(1, at, "may have %d items of the kind that contains describes and has %d", *s.MaxContains, found)
	}
}

func (r *report) object(s *jsonschema.Schema, v *value, at *place) {
	if missing := lacking(s.Required, v); len(missing) > 0 {
		r.add(len(missing), at, "lacks %s", strings.Join(missing, ", "))
	}
	for _, key := range v.keys {
		r.member(s, key, v.fields[key], at.key(key))
	}
	r.size(at, "properties", len(v.keys), s.MinProperties, s.MaxProperties)
	for _, needs := range []map[string][]string{s.DependentRequired, s.DependencyStrings} {
		for _, key := range slices.Sorted(maps.Keys(needs)) {
			if missing := lacking(needs[key], v); v.fields[key] != nil && len(missing) > 0 {
				r.add(len(missing), at, "has %s and so needs %s", quoted(key), strings.Join(missing, ", "))
			}
		}
	}
	for _, needs := range []map[string]*jsonschema.Schema{s.DependentSchemas, s.DependencySchemas} {
		for _, key := range slices.Sorted(maps.Keys(needs)) {
			if v.fields[key] != nil {
				r.visit(needs[key], v, at)
			}
		}
	}
}

func (r *report) member(s *jsonschema.Schema, key string, v *value, at *place) {
	own, known := s.Properties[key]
	if known {
		r.visit(own, v, at)
	}
	for _, pattern := range slices.Sorted(maps.Keys(s.PatternProperties)) {
		if r.patterns[pattern].MatchString(key) {
			known = true
			r.visit(s.PatternProperties[pattern], v, at)
		}
	}
	if s.AdditionalProperties != nil && !known {
		if never(s.AdditionalProperties) {
			r.add(1, at, "the schema has no such property; leave it out")
		} else {
			r.visit(s.AdditionalProperties, v, at)
		}
	}
	if s.PropertyNames != nil && !r.try(s.PropertyNames, nameValue(key), at).fits() {
		r.add(1, at, "is a name that the schema does not allow")
	}
}

// never reports whether a schema is false, which the library reads as not {}.
func never(s *jsonschema.Schema) bool { return s.Not != nil && reflect.ValueOf(*s.Not).IsZero() }

// lacking returns the names, quoted, of properties that are not there.
func lacking(names []string, v *value) []string {
	var missing []string
	for _, name := range names {
		if v.fields[name] == nil {
			missing = append(missing, quoted(name))
		}
	}
	return missing
}
