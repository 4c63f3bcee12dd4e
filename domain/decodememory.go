package domain

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"
)

const (
	// maxMemoryPerByte bounds what a text takes once it is decoded, for each of its bytes. What is recorded takes up to two: `{}` is
	// an item of any list, and takes a kilobyte in some.
	maxMemoryPerByte = 8
	// harmless is how long a text is whose lists cannot take much.
	harmless = 4 << 10
)

// NotUTF8 is the error of a field's JSON that has bytes which are not UTF-8, and names the field below it that has them: decoding
// the JSON into the type would put other characters in their place.
func NotUTF8(field string, text []byte, typ reflect.Type) error {
	m := newMemory(text)
	m.utf8 = true
	return in(field, cmp.Or(m.value(typ), errNotUTF8))
}

var errNotUTF8 error = &Error{Kind: Invalid, Message: "is not UTF-8; give it as it was written"}

// A memory adds up what valid JSON takes once it is decoded, in one pass and without decoding it.
type memory struct {
	text []byte
	at   int
	// left is how much memory may still be taken.
	left   int
	fields map[reflect.Type][]reflect.StructField
	// utf8 says that a text which is not UTF-8 is refused.
	utf8 bool
}

func newMemory(text []byte) *memory {
	return &memory{text: text, left: maxMemoryPerByte * len(text), fields: map[reflect.Type][]reflect.StructField{}}
}

// value passes over a value that is decoded into a type. Of what decodes itself it counts nothing: that is checked where it does.
func (m *memory) value(typ reflect.Type) error {
	m.space()
	opens := m.text[m.at]
	fields := m.fields[typ]
	if fields == nil && typ.Kind() == reflect.Struct {
		fields = reflect.VisibleFields(typ)
		m.fields[typ] = fields
	}
	switch kind := typ.Kind(); {
	case kind == reflect.Pointer:
		return m.item(typ.Elem(), 0)
	case decodesItself(typ):
	case opens == '{' && kind == reflect.Struct:
		return m.members('}', func(key string, _ int) error {
			for _, field := range fields {
				if strings.EqualFold(keyOf(field), key) {
					return in(keyOf(field), m.value(field.Type))
				}
			}
			return in(Shorten(key, 60), m.leaf())
		})
	case opens == '{' && kind == reflect.Map:
		return m.members('}', func(key string, _ int) error { return in(Shorten(key, 60), m.item(typ.Elem(), typ.Key().Size())) })
	case opens == '[' && kind == reflect.Slice:
		return m.members(']', func(_ string, i int) error { return in(item(i), m.item(typ.Elem(), 0)) })
	}
	return m.leaf()
}

// leaf passes over a value in which no list is decoded.
func (m *memory) leaf() error {
	from := m.at
	if m.skip(); m.utf8 && !utf8.Valid(m.text[from:m.at]) {
		return errNotUTF8
	}
	return nil
}

// item passes over a value that is decoded into memory of its own: of its type, and so much more.
func (m *memory) item(typ reflect.Type, more uintptr) error {
	if m.left -= int(typ.Size() + more); m.left < 0 {
		return Invalidf("is one item too many: the %d bytes of the text would take more than %d times as much memory; give it as it was written", len(m.text), maxMemoryPerByte)
	}
	return m.value(typ)
}

// members has the values of an object passed over with their keys, or the items of a list with their indexes, up to what closes it.
func (m *memory) members(closes byte, pass func(key string, i int) error) error {
	m.at++
	for i := 0; ; i++ {
		if m.space(); m.text[m.at] == ',' {
			m.at++
			m.space()
		}
		if m.text[m.at] == closes {
			m.at++
			return nil
		}
		key := ""
		if closes == '}' {
			from := m.at
			m.skip()
			if key = string(m.text[from+1 : m.at-1]); strings.Contains(key, `\`) {
				_ = json.Unmarshal(m.text[from:m.at], &key) // it is valid
			}
			m.space()
			m.at++ // the colon
		}
		if err := pass(key, i); err != nil {
			return err
		}
	}
}

func (m *memory) space() {
	for m.at < len(m.text) && bytes.IndexByte([]byte(" \t\r\n"), m.text[m.at]) >= 0 {
		m.at++
	}
}

// skip passes over a value as it stands.
func (m *memory) skip() {
	m.space()
	for open := 0; m.at < len(m.text); {
		c := m.text[m.at]
		switch c {
		case '{', '[':
			open++
		case '}', ']':
			open--
		case '"':
			for m.at++; m.text[m.at] != '"'; m.at++ {
				if m.text[m.at] == '\\' {
					m.at++
				}
			}
		}
		ends := c == '"' || c == '}' || c == ']'
		if open < 0 || open == 0 && !ends && strings.IndexByte(", \t\r\n", c) >= 0 {
			return // a number or a word ended before
		}
		if m.at++; open == 0 && ends {
			return
		}
	}
}
