package wire

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Extra are the fields of an answer that nobody but its server knows, by their names.
type Extra map[string]json.RawMessage

// MaxExtra bounds, in bytes, what is kept of them.
const MaxExtra = 64 << 10

// Names are those in a text.
func Names(list string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		set[name] = true
	}
	return set
}

// Unread are the fields of an object that are not known by name and say something. The JSON is valid.
func Unread(data []byte, known map[string]bool) Extra {
	var unread Extra
	members(data, func(quoted, value []byte) {
		if len(quoted) < 2 || known[string(quoted[1:len(quoted)-1])] || !Present(value) {
			return
		}
		var name string
		_ = json.Unmarshal(quoted, &name)
		unread.Add(Extra{name: bytes.Clone(value)})
	})
	return unread
}

// members gives what is in a valid JSON object, with its quoted names, or in a list, without names. It decodes nothing,
// as each piece of an answer is looked through.
func members(data []byte, each func(name, value []byte)) {
	var name []byte
	depth, begin, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch b := data[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{', b == '[':
			if depth++; depth == 1 {
				begin = i + 1
			}
		case depth > 1 && (b == '}' || b == ']'):
			depth--
		case depth != 1:
		case b == ':':
			name, begin = bytes.TrimSpace(data[begin:i]), i+1
		case b == ',', b == '}', b == ']':
			if value := bytes.TrimSpace(data[begin:i]); len(value) > 0 {
				each(name, value)
			}
			name, begin = nil, i+1
		}
	}
}

// Add takes the newest value of each field. What is too much is left out.
func (f *Extra) Add(more Extra) {
	for name, value := range more {
		delete(*f, name)
		size := len(name) + len(value)
		for other, kept := range *f {
			size += len(other) + len(kept)
		}
		if size > MaxExtra || len(*f) == 32 {
			continue
		}
		if *f == nil {
			*f = Extra{}
		}
		(*f)[name] = value
	}
}

// BesideCalls are the fields of the calls that only the server knows, in the order of Calls.
func (d *Draft) BesideCalls() []Extra {
	var out []Extra
	for _, call := range d.ordered() {
		out = append(out, call.beside)
	}
	return out
}
