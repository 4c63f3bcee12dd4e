package domain

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Decode reads a value from JSON, and names the field that was wrong. Keys that T does not have are
// ignored.
func Decode[T any](data []byte) (T, error) {
	var value T
	if err := DecodeInto(data, &value); err != nil {
		return *new(T), invalid(err)
	}
	return value, nil
}

// DecodeInto decodes into a pointer and names the field that was wrong. It refuses a text of which little would take much memory.
func DecodeInto(data []byte, target any) error {
	if len(data) > harmless && json.Valid(data) { // of what is not, decoding says what is wrong
		if err := newMemory(data).value(reflect.TypeOf(target).Elem()); err != nil {
			return err
		}
	}
	return DecodeTyped(data, target)
}

// DecodeTyped is DecodeInto for a type of a user's own, such as that of an answer: its items may take as much memory as they do.
func DecodeTyped(data []byte, target any) error {
	if err := json.Unmarshal(data, target); err != nil {
		return blame(data, reflect.TypeOf(target).Elem(), err, 16) // levels: at each it decodes what is below
	}
	return walk(target, walker{passes: func(v reflect.Value) bool { return v.Kind() == reflect.Map }, visit: func(v reflect.Value) error {
		if t, ok := v.Addr().Interface().(*time.Time); ok {
			*t = utc(*t)
		}
		return nil
	}})
}

// MaxRecorded bounds the numbers of what was recorded: several of them add up to an int64.
const MaxRecorded = 1 << 60

// CheckRecorded refuses a value with a number or a time that nobody has recorded: one below zero or above MaxRecorded, one before
// 1970 or after 9998. A budget and a model's settings are what somebody has asked for, and may be anything. Errors name the field.
func CheckRecorded(value any) error { return checkRecorded(value, MaxRecorded) }

func checkRecorded(value any, most int64) error {
	asked := []reflect.Type{reflect.TypeFor[ExecutionBudget](), reflect.TypeFor[LLMConfig]()}
	checks := walker{passes: func(v reflect.Value) bool { return slices.Contains(asked, v.Type()) }, visit: func(v reflect.Value) error {
		switch t, _ := v.Interface().(time.Time); v.Kind() {
		case reflect.Int, reflect.Int64, reflect.Float64:
			if n := v.Convert(reflect.TypeFor[float64]()).Float(); n < 0 || n > float64(most) {
				return Invalidf("is %v; give a number from 0 to %d", v, most)
			}
		default:
			if year := t.UTC().Year(); !t.IsZero() && (year < 1970 || year > 9998) {
				return Invalidf("is in the year %d; give a time from 1970 to 9998", year)
			}
		}
		return nil
	}}
	return checks.through(settable(reflect.ValueOf(value)))
}

// checkWords refuses a value with a word that its type does not know, and names the field.
func checkWords[T any](value T) error {
	return walk(&value, walker{visit: func(v reflect.Value) error {
		word, ok := reflect.New(v.Type()).Interface().(encoding.TextUnmarshaler)
		if !ok || v.Kind() != reflect.String {
			return nil
		}
		return word.UnmarshalText([]byte(v.String()))
	}})
}

// A fieldError is an error with the path of the field in which it arose.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string {
	key := e.path[strings.LastIndexByte(e.path, '.')+1:]
	return e.path + ": " + strings.TrimPrefix(e.err.Error(), key+": ") // a word may name what it is, too
}

func (e *fieldError) Unwrap() error { return e.err }

// in says that err arose in a field.
func in(field string, err error) error {
	if err == nil {
		return nil
	}
	if inner, ok := errors.AsType[*fieldError](err); ok && err == error(inner) { //nolint:errorlint // only the outermost is extended
		separator := "."
		if strings.HasPrefix(inner.path, "[") {
			separator = ""
		}
		return &fieldError{field + separator + inner.path, inner.err}
	}
	return &fieldError{field, err}
}

// inItem says that err arose in an item of a field.
func inItem(field string, i int, err error) error { return in(field, in(item(i), err)) }

func item(i int) string { return fmt.Sprintf("[%d]", i) }

// blame finds out where decoding failed, by decoding the parts one by one, so many levels deep; err is what the whole gave.
func blame(data []byte, typ reflect.Type, err error, levels int) error {
	var values map[string]json.RawMessage
	var items []json.RawMessage
	switch {
	case levels == 0, decodesItself(typ):
	case typ.Kind() == reflect.Pointer:
		return blame(data, typ.Elem(), err, levels)
	case typ.Kind() == reflect.Struct && json.Unmarshal(data, &values) == nil:
		for _, field := range reflect.VisibleFields(typ) {
			name := keyOf(field)
			for _, key := range sortedKeys(values) {
				if name == "" || name == "-" || !strings.EqualFold(key, name) {
					continue
				}
				if wrong := json.Unmarshal(values[key], reflect.New(field.Type).Interface()); wrong != nil {
					return in(key, blame(values[key], field.Type, wrong, levels-1))
				}
			}
		}
	case typ.Kind() == reflect.Slice && json.Unmarshal(data, &items) == nil:
		for i, raw := range items {
			if wrong := json.Unmarshal(raw, reflect.New(typ.Elem()).Interface()); wrong != nil {
				return in(item(i), blame(raw, typ.Elem(), wrong, levels-1))
			}
		}
	}
	return wholeNumber(err)
}

// wholeNumber says how to mend a number that no whole one of its type is.
func wholeNumber(err error) error {
	mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || mismatch.Type.Kind() < reflect.Int || mismatch.Type.Kind() > reflect.Uint64 {
		return err
	}
	number, is := strings.CutPrefix(mismatch.Value, "number ")
	switch {
	case !is:
		return err
	case strings.ContainsAny(number, ".eE"):
		return fmt.Errorf("is %s; give a whole number, without a point", Shorten(number, 64))
	}
	return fmt.Errorf("is %s, which is too large; give a smaller whole number", Shorten(number, 64))
}

func decodesItself(typ reflect.Type) bool {
	pointer := reflect.PointerTo(typ)
	return pointer.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// utc returns the instant as it is kept: in UTC, with nanoseconds and without a monotonic reading, so that
// what is decoded equals what was encoded. At either end of JSON's years it keeps its zone.
func utc(t time.Time) time.Time {
	t = t.Round(0)
	if year := t.UTC().Year(); year < 0 || year > 9999 {
		return t
	}
	return t.UTC()
}
