package domain

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Taking returns the definition with some fields of another one, by their keys: system_prompt, or budget.max_steps where
// the other limits stay.
func (d Definition) Taking(from Definition, keys []string) Definition {
	to := maps.Collect(byKey(reflect.ValueOf(&d).Elem()))
	for key, value := range byKey(reflect.ValueOf(from)) {
		if slices.Contains(keys, key) {
			to[key].Set(value)
		}
	}
	return d
}

// byKey yields the fields of a definition by their keys, and behind each its parts that can be given while the others stay.
func byKey(d reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for field, value := range d.Fields() {
			if !yield(keyOf(field), value) {
				return
			}
			if !inParts(field.Type) {
				continue
			}
			for part, value := range value.Fields() {
				if !yield(keyOf(field)+"."+keyOf(part), value) {
					return
				}
			}
		}
	}
}

// inParts reports whether parts of a field can be given while the others stay.
func inParts(t reflect.Type) bool {
	return t == reflect.TypeFor[ExecutionBudget]() || t == reflect.TypeFor[Guards]() || t == reflect.TypeFor[LLMConfig]()
}

// Given are the keys of what a definition says that is not whole, as Taking takes them. A model that is named is given whole.
func (d Definition) Given() (keys []string) {
	for field, value := range reflect.ValueOf(d).Fields() {
		switch key := keyOf(field); {
		case key == "source" || value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0:
		case !inParts(field.Type) || key == "model" && d.Model.Provider != "":
			keys = append(keys, key)
		default:
			for part, given := range value.Fields() {
				if !given.IsZero() {
					keys = append(keys, key+"."+keyOf(part))
				}
			}
		}
	}
	return keys
}

func keyOf(field reflect.StructField) string {
	key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return key
}

// DefinitionKeys are the keys of a definition's fields, and of the parts that can be given for themselves.
func DefinitionKeys() (keys []string) {
	for key := range byKey(reflect.ValueOf(Definition{})) {
		keys = append(keys, key)
	}
	return keys
}

// Conflicts shows, in a line, the fields that are set in given and differ, but for those of one execution: model, budget. It is
// empty where there are none.
func (d Definition) Conflicts(given Definition) string {
	for _, g := range []*Guards{&d.Guards, &given.Guards} {
		g.FinishReasons = nilIfEmpty(g.FinishReasons)
	}
	var parts []string
	own, that := maps.Collect(byKey(reflect.ValueOf(d))), maps.Collect(byKey(reflect.ValueOf(given)))
	for _, key := range Differing(d, given, "model", "budget", "source") {
		if !that[key].IsZero() {
			parts = append(parts, fmt.Sprintf("%s: the session has %s, given is %s", key, shownField(own[key]), shownField(that[key])))
		}
	}
	return strings.Join(parts, "; ")
}

// Differing are the keys of the fields in which two definitions differ, but for where they were read.
func (d Definition) Differing(other Definition) []string { return Differing(d, other, "source") }

// Differing are the keys of the exported fields in which two structs differ, some left aside. No list is the same as an empty
// one, and the fields of an embedded struct without a key count as its own.
func Differing[T any](a, b T, aside ...string) []string {
	return differing(reflect.ValueOf(a), reflect.ValueOf(b), aside)
}

func differing(a, b reflect.Value, aside []string) (keys []string) {
	for field, own := range a.Fields() {
		that := b.FieldByIndex(field.Index)
		switch key := keyOf(field); {
		case !field.IsExported(), slices.Contains(aside, key), own.Kind() == reflect.Slice && own.Len()+that.Len() == 0:
		case reflect.DeepEqual(own.Interface(), that.Interface()):
		case key == "":
			keys = append(keys, differing(own, that, aside)...)
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

// shownField is a field's value, cut short, for the line that says how two definitions differ.
func shownField(v reflect.Value) string {
	if v.IsZero() {
		return "none"
	}
	encoded, err := json.Marshal(v.Interface())
	if err != nil {
		return "another"
	}
	text := string(encoded)
	if short := Shorten(text, 60); short != text {
		return short + "…"
	}
	return text
}

// CheckUpdated refuses what cannot be another while a session is open: the messages that it has are counted and shown
// by it.
func (d Definition) CheckUpdated(by Definition) error {
	for _, key := range d.Differing(by) {
		if key == "compiler" || key == "sections" {
			return Deniedf("%s: stays as it is for as long as the session is open; leave it as it was, or close the session and begin another", key)
		}
	}
	return by.Check()
}
