package wire

import (
	"encoding/json"
	"maps"
)

// Extra are the fields of an answer that nobody but its server knows, by their names.
type Extra map[string]json.RawMessage

const (
	// MaxExtra bounds, in bytes, what is kept of them.
	MaxExtra = 64 << 10
	maxNames = 32
)

// Unread are the fields of an object that are not known by name and say something.
func Unread(data []byte, known map[string]bool) Extra {
	var all Extra
	_ = json.Unmarshal(data, &all) // it is an object, or has none
	maps.DeleteFunc(all, func(name string, value json.RawMessage) bool { return known[name] || !Present(value) })
	return all
}

// Add takes the newest value of each field. What is too much is left out.
func (f *Extra) Add(more Extra) {
	for name, value := range more {
		size := len(name) + len(value)
		for other, kept := range *f {
			if other != name {
				size += len(other) + len(kept)
			}
		}
		delete(*f, name)
		if size > MaxExtra || len(*f) == maxNames {
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
