package output

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// items checks an array and what is in it.
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

// object checks an object and what is in it.
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
