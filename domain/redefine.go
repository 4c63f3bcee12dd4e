package domain

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Taking returns the definition with some fields of another one, by their keys.
func (d Definition) Taking(from Definition, fields []string) Definition {
	to, source := reflect.ValueOf(&d).Elem(), reflect.ValueOf(from)
	for field := range source.Fields() {
		if slices.Contains(fields, keyOf(field)) {
			to.FieldByIndex(field.Index).Set(source.FieldByIndex(field.Index))
		}
	}
	return d
}

func keyOf(field reflect.StructField) string {
	key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return key
}

// DefinitionKeys are the keys of a definition's fields.
func DefinitionKeys() (keys []string) {
	for field := range reflect.TypeFor[Definition]().Fields() {
		keys = append(keys, keyOf(field))
	}
	return keys
}

// Differing are the keys of the fields in which two definitions differ, but for where they were read.
func (d Definition) Differing(other Definition) (keys []string) {
	for field, own := range reflect.ValueOf(d).Fields() {
		that := reflect.ValueOf(other).FieldByIndex(field.Index)
		bothEmpty := own.Kind() == reflect.Slice && own.Len()+that.Len() == 0
		if key := keyOf(field); key != "source" && !bothEmpty && !reflect.DeepEqual(own.Interface(), that.Interface()) {
			keys = append(keys, key)
		}
	}
	return keys
}

// maxShownField bounds, in bytes, how much of a field is shown where two definitions differ.
const maxShownField = 60

// Compared shows fields of two definitions, by their keys, in a line.
func (d Definition) Compared(other Definition, keys []string) string {
	var parts []string
	for field, own := range reflect.ValueOf(d).Fields() {
		if key := keyOf(field); slices.Contains(keys, key) {
			that := reflect.ValueOf(other).FieldByIndex(field.Index)
			parts = append(parts, fmt.Sprintf("%s: the session has %s, given is %s", key, shownField(own), shownField(that)))
		}
	}
	return strings.Join(parts, "; ")
}

func shownField(v reflect.Value) string {
	if v.IsZero() {
		return "none"
	}
	encoded, err := json.Marshal(v.Interface())
	if err != nil {
		return "another"
	}
	text := string(encoded)
	if short := Shorten(text, maxShownField); short != text {
		return short + "…"
	}
	return text
}

// CheckRedefined refuses what cannot be another while a session is open: the messages that it has are counted and shown
// by it.
func (d Definition) CheckRedefined(by Definition) error {
	for _, key := range d.Differing(by) {
		if key == "compiler" || key == "sections" {
			return Errorf(Denied, "%s: stays as it is for as long as the session is open; leave it as it was, or close the session and begin another", key)
		}
	}
	return by.Check()
}
