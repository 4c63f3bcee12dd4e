package domain

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"time"
)

// plain are bytes that JSON never escapes: those of ids and most notes.
const plain = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ -_.:/"

// isPlain reports whether raw is surely canonical already, as nearly all metadata is.
func isPlain(raw json.RawMessage) bool {
	text, opened := bytes.CutPrefix(raw, []byte{'"'})
	text, closed := bytes.CutSuffix(text, []byte{'"'})
	return opened && closed && len(bytes.Trim(text, plain)) == 0 || string(raw) == "true"
}

// Clone returns a value that shares no memory with the one given, but for what its types keep to themselves.
func Clone[T any](value T) T {
	_ = walk(&value, walker{copies: true})
	return value
}

// Texts returns a clone in which each text is another one. raw says that the text is JSON, or data. A part of a message that
// has changed is no longer what its signature signs, so it loses that and is not sent back as it came.
func Texts[T any](value T, change func(text string, raw bool) string) T {
	changed := false // since the newest part began
	changeIn := func(text string, raw bool) string {
		own := change(text, raw)
		changed = changed || own != text
		return own
	}
	_ = walk(&value, walker{
		copies: true,
		passes: func(v reflect.Value) bool {
			changed = changed && v.Type() != reflect.TypeFor[Part]()
			return false
		},
		visit: func(v reflect.Value) error {
			if part, ok := v.Addr().Interface().(*Part); ok && changed {
				part.Signature, part.Opaque = "", nil
			} else if v.Kind() == reflect.String {
				v.SetString(changeIn(v.String(), false))
			} else if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 && v.Len() > 0 {
				v.SetBytes([]byte(changeIn(string(v.Bytes()), true)))
			}
			return nil
		},
	})
	return value
}

// keep returns a value in the one form in which a state holds and encodes it, with memory of its own: raw JSON is canonical, what
// is empty is absent, times are in UTC. It fails where the value cannot be kept, and names the field.
func keep[T any](value T) (T, error) {
	err := walk(&value, walker{copies: true, visit: asKept, absent: isEmptyRaw})
	return value, err
}

// isEmptyRaw reports whether a field is raw JSON without a byte, and makes it nil.
func isEmptyRaw(field reflect.Value) bool {
	if field.Type() != reflect.TypeFor[json.RawMessage]() || field.Len() > 0 {
		return false
	}
	field.SetZero()
	return true
}

// asKept puts a value into that form whose parts are in it already.
func asKept(v reflect.Value) (err error) {
	if kind := v.Kind(); kind != reflect.Struct && kind != reflect.Slice && kind != reflect.Map {
		return nil // most parts have one form
	}
	switch held := v.Addr().Interface().(type) {
	case *time.Time:
		*held = utc(*held)
	case *json.RawMessage:
		// As encoding/json writes it, so that what is saved and read back is the same bytes.
		if !isPlain(*held) {
			if *held, err = json.Marshal(*held); err != nil {
				return Invalidf("is not valid JSON; give a JSON value")
			}
		}
	case *Trusted:
		if err = held.check(); len(*held) == 0 {
			*held = nil
		}
	case *Message:
		if held.Role == "" {
			return in("role", Invalidf("is missing; say who speaks"))
		}
	case *Part:
		if held.Type == "" {
			return in("type", Invalidf("is missing; say what the part holds"))
		}
	case *Error:
		*held = held.kept()
	case *StopSignal:
		return in("reason", held.Reason.UnmarshalText([]byte(held.Reason)))
	case *ResponseFormat:
		return held.check()
	case *AgentStep:
		held.ToolExecutions, held.Errors = orEmpty(held.ToolExecutions), orEmpty(held.Errors)
	case *StepExecution:
		*held = NewStepExecution(held.Step, held.StartedAt, held.CompletedAt, held.Continuation)
	default:
		if kind := v.Kind(); (kind == reflect.Slice || kind == reflect.Map) && v.Len() == 0 {
			v.SetZero()
		}
	}
	return err
}

// A walker looks at a value, and at all parts of it that others see.
type walker struct {
	// copies says that whatever a value refers to is copied first.
	copies bool
	// passes says which parts are passed over, with all that is in them; nil: none is.
	passes func(reflect.Value) bool
	// absent says which fields hold nothing and are passed over; nil: none does.
	absent func(field reflect.Value) bool
	// visit comes to a part after what is in it, and may change it. Nil: only what is copied is gone through.
	visit func(reflect.Value) error
}

// walk takes a walker through what a pointer points to. An error names the part.
func walk(pointer any, w walker) error { return w.through(reflect.ValueOf(pointer).Elem()) }

func (w walker) through(v reflect.Value) (err error) {
	if w.passes != nil && w.passes(v) {
		return nil
	}
	if w.visit == nil && v.Type() == reflect.TypeFor[Metadata]() { // nearly all that messages refer to
		notes := v.Addr().Interface().(*Metadata)
		*notes = maps.Clone(*notes)
		// Each is put where it was.
		//workflowcheck:ignore
		for key, raw := range *notes {
			(*notes)[key] = bytes.Clone(raw)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if w.copies {
			v.Set(settable(v.Elem()).Addr())
		}
		return w.through(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		one := settable(v.Elem())
		err := w.through(one)
		if v.Set(one); err != nil {
			return err
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if w.copies {
				v.SetBytes(bytes.Clone(v.Bytes()))
			}
			break
		}
		if w.copies && !v.IsNil() {
			own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(own, v)
			v.Set(own)
		}
		for i := range v.Len() {
			if err := w.through(v.Index(i)); err != nil {
				return in(item(i), err)
			}
		}
	case reflect.Map:
		held := reflect.ValueOf(v.Interface())
		if w.copies && !v.IsNil() {
			v.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		}
		key, one := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		wrong := "" // of several keys the first is told, so that it is the same each time
		for each := held.MapRange(); each.Next(); {
			key.SetIterKey(each)
			one.SetIterValue(each)
			if failed := w.through(one); failed != nil && (err == nil || key.String() < wrong) {
				wrong, err = key.String(), in(Shorten(key.String(), 60), failed)
			}
			if w.copies {
				v.SetMapIndex(key, one)
			}
		}
		if err != nil {
			return err
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Field(i)
			if !field.CanSet() || w.absent != nil && w.absent(field) { // what cannot be set is not exported
				continue
			}
			if err := w.through(field); err != nil {
				if key := keyOf(v.Type().Field(i)); key != "" && key != "-" {
					err = in(key, err)
				}
				return err
			}
		}
	default:
	}
	if w.visit == nil {
		return nil
	}
	return w.visit(v)
}

// settable is a copy of a value that cannot be set where it is.
func settable(held reflect.Value) reflect.Value {
	one := reflect.New(held.Type()).Elem()
	one.Set(held)
	return one
}

// kept returns a copy of the configuration. Options that are not JSON stay, and fail where they are encoded.
func (c LLMConfig) kept() LLMConfig {
	if own, err := keep(c); err == nil {
		return own
	}
	return Clone(c)
}

// check says why the format makes no sense.
func (f ResponseFormat) check() error {
	err := checkWords(f)
	if err == nil && f.Type == FormatSchema && (f.Name == "" || len(f.Schema) == 0) {
		err = Invalidf("json_schema needs a name and a schema")
	}
	return err
}

// nilIfEmpty makes the two kinds of empty slice one, as JSON does.
func nilIfEmpty[S ~[]E, E any](s S) S {
	if len(s) == 0 {
		return nil
	}
	return s
}
