package domain

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An argumentTree are the arguments of a call as rules see them. root is nil where two programs could read the text
// differently: it is not one JSON object, or a key comes twice, even by another case, as encoding/json reads it.
type argumentTree struct{ root object }

// An object is a JSON object by its keys' folded names.
type object map[string]member

type member struct {
	name  string
	value any
}

func readArguments(text string) argumentTree {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if !utf8.ValidString(text) {
		return argumentTree{}
	}
	value, err := readValue(d, 0)
	root, ok := value.(object)
	if _, after := d.Token(); err != nil || !ok || !errors.Is(after, io.EOF) {
		return argumentTree{}
	}
	return argumentTree{root}
}

// readTrusted is never ambiguous where nothing is given.
func readTrusted(trusted Trusted) argumentTree {
	if len(trusted) == 0 {
		return argumentTree{object{}}
	}
	encoded, err := json.Marshal(trusted)
	if err != nil {
		return argumentTree{}
	}
	return readArguments(string(encoded))
}

var errAmbiguous = errors.New("ambiguous")

// maxNesting bounds how deep arguments are looked into.
const maxNesting = 64

func readValue(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil || depth > maxNesting {
		return nil, errAmbiguous
	}
	switch token {
	case json.Delim('{'):
		o := object{}
		for d.More() {
			key, err := d.Token()
			name, ok := key.(string)
			if _, twice := o[folded(name)]; err != nil || !ok || twice || mangled(name) {
				return nil, errAmbiguous
			}
			value, err := readValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			o[folded(name)] = member{name, value}
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := readValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = d.Token()
		return list, err
	}
	if text, ok := token.(string); ok && mangled(text) {
		return nil, errAmbiguous
	}
	return token, nil
}

// mangled reports whether a text may have held half a surrogate, which each program reads in its own way.
func mangled(text string) bool { return strings.ContainsRune(text, utf8.RuneError) }

// folded makes keys one that encoding/json takes for the same.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		for {
			next := unicode.SimpleFold(r)
			if next <= r {
				return next
			}
			r = next
		}
	}, name)
}

// match holds what stands at a path against a pattern: all of it where the rule allows, else any of it. What
// cannot be told apart matches where that is the careful answer.
func (a argumentTree) match(path string, pattern json.RawMessage, allows bool) bool {
	if a.root == nil {
		return !allows
	}
	found, clear := valuesAt(a.root, strings.Split(path, "."))
	if !clear {
		return !allows
	}
	matching := 0
	for _, value := range found {
		if matchValue(pattern, value) {
			matching++
		}
	}
	if allows {
		return matching > 0 && matching == len(found)
	}
	return matching > 0
}

// valuesAt is what stands at a path; clear is false where a key differs from the path's by its case alone.
func valuesAt(value any, path []string) (found []any, clear bool) {
	if len(path) == 0 {
		return []any{value}, true
	}
	step, rest := path[0], path[1:]
	var below []any
	switch v := value.(type) {
	case object:
		if one, ok := v[folded(step)]; ok {
			if one.name != step {
				return nil, false
			}
			below = []any{one.value}
		} else if step == "*" {
			for _, key := range slices.Sorted(maps.Keys(v)) {
				below = append(below, v[key].value)
			}
		}
	case []any:
		i, err := strconv.Atoi(step)
		switch {
		case step == "*":
			below = v
		case err == nil && i >= 0 && i < len(v):
			below = v[i : i+1]
		}
	}
	for _, one := range below {
		values, clear := valuesAt(one, rest)
		if !clear {
			return nil, false
		}
		found = append(found, values...)
	}
	return found, true
}

type numberBounds struct {
	AtLeast *float64 `json:"at_least"`
	AtMost  *float64 `json:"at_most"`
}

func boundsOf(pattern json.RawMessage) (b numberBounds, ok bool) {
	d := json.NewDecoder(bytes.NewReader(pattern))
	d.DisallowUnknownFields()
	return b, d.Decode(&b) == nil
}

func matchValue(pattern json.RawMessage, value any) bool {
	d := json.NewDecoder(bytes.NewReader(pattern))
	d.UseNumber()
	wanted, err := readValue(d, 0)
	if err != nil {
		return false
	}
	switch wanted := wanted.(type) {
	case string:
		text, ok := value.(string)
		return ok && matchText(wanted, text)
	case json.Number:
		number, ok := value.(json.Number)
		return ok && numberOf(number) == numberOf(wanted)
	case object:
		number, ok := value.(json.Number)
		b, sound := boundsOf(pattern)
		return ok && sound && (b.AtLeast == nil || numberOf(number) >= *b.AtLeast) && (b.AtMost == nil || numberOf(number) <= *b.AtMost)
	}
	return reflect.DeepEqual(wanted, value)
}

// numberOf is infinite where the number is too large.
func numberOf(n json.Number) float64 {
	f, _ := strconv.ParseFloat(n.String(), 64) // it is a number: only its size can be wrong
	return f
}

// matchText matches a text against a pattern in which * is any text, ? one character, and a backslash makes the
// next one plain.
func matchText(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	pi, ti, star, from := 0, 0, -1, 0
	for ti < len(t) {
		switch {
		case pi < len(p) && p[pi] == '*':
			star, from = pi, ti
			pi++
			continue
		case pi < len(p) && p[pi] == '?':
			pi, ti = pi+1, ti+1
			continue
		case pi+1 < len(p) && p[pi] == '\\' && p[pi+1] == t[ti]:
			pi, ti = pi+2, ti+1
			continue
		case pi < len(p) && p[pi] != '\\' && p[pi] == t[ti]:
			pi, ti = pi+1, ti+1
			continue
		case star < 0:
			return false
		}
		from++
		pi, ti = star+1, from
	}
	for pi < len(p) && p[pi] == '*' {
		pi++
	}
	return pi == len(p)
}
