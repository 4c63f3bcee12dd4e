package domain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An argumentTree is a JSON object as rules see it, the arguments of a call or an object in them, by its keys' folded names. That
// of a call is nil where two programs could read the text differently: it is not one JSON object, or a key comes twice, even by
// another case, as encoding/json reads it. It is nil, too, where there are too many values for a workflow to look through.
type argumentTree map[string]member

type member struct {
	name  string
	value any
}

func readArguments(text string) argumentTree {
	r := newReader(text)
	value, err := r.read(0)
	root, _ := value.(argumentTree)
	if _, after := r.Token(); err != nil || !errors.Is(after, io.EOF) || !utf8.ValidString(text) {
		return nil
	}
	return root
}

var errAmbiguous = fmt.Errorf("is not read alike by all programs; give JSON in UTF-8 of at most %d levels and %d values", maxNesting, maxValues)

const (
	// maxNesting bounds how deep arguments are looked into, and maxValues how many values they may have there:
	// a workflow decides within a second.
	maxNesting = 64
	maxValues  = 2000
	// maxMatched is how long a text may be that is held against a pattern.
	maxMatched = 64 << 10
)

// A reader reads JSON that no two programs read differently.
type reader struct {
	*json.Decoder
	values int
}

func newReader(text string) *reader {
	r := &reader{Decoder: json.NewDecoder(strings.NewReader(text))}
	r.UseNumber()
	return r
}

func (r *reader) read(depth int) (any, error) {
	token, err := r.Token()
	if r.values++; err != nil || depth > maxNesting || r.values > maxValues {
		return nil, errAmbiguous
	}
	switch token {
	case json.Delim('{'):
		o := argumentTree{}
		for r.More() {
			key, err := r.Token()
			name, ok := key.(string)
			if err != nil || !ok || mangled(name) {
				return nil, errAmbiguous
			}
			if _, twice := o[folded(name)]; twice {
				return nil, fmt.Errorf("has the key %q twice, be it in another case; give it once", Shorten(name, 60))
			}
			value, err := r.read(depth + 1)
			if err != nil {
				return nil, err
			}
			o[folded(name)] = member{name, value}
		}
		_, err = r.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for r.More() {
			value, err := r.read(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = r.Token()
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

// match holds what stands at a path against a pattern: all of it where the rule allows, which an item that lacks the
// path is not, else any of it, whatever it is wrapped in. What cannot be told apart matches where that is the careful
// answer.
func (a argumentTree) match(path string, text json.RawMessage, allows bool) bool {
	at, p := standing{clear: a != nil}, readPattern(text)
	at.look(a, strings.Split(path, "."))
	switch {
	case !at.clear:
		return !allows
	case allows:
		return !at.lacks && len(at.found) > 0 && !slices.ContainsFunc(at.found, func(value any) bool { return !p.match(value) })
	}
	return slices.ContainsFunc(at.found, p.matchAny)
}

// A standing is what stands at a path. clear is false where a key differs from the path's by its case alone; lacks
// says that something on the way has no such step.
type standing struct {
	found        []any
	clear, lacks bool
}

func (s *standing) look(value any, path []string) {
	if len(path) == 0 {
		s.found = append(s.found, value)
		return
	}
	step, rest := path[0], path[1:]
	switch v := value.(type) {
	case argumentTree:
		if step == "*" {
			for _, key := range sortedKeys(v) {
				s.look(v[key].value, rest)
			}
			return
		}
		if one, ok := v[folded(step)]; ok {
			s.clear = s.clear && one.name == step
			s.look(one.value, rest)
			return
		}
	case []any:
		i, err := strconv.Atoi(step)
		switch {
		case step == "*":
			for _, one := range v {
				s.look(one, rest)
			}
			return
		case err == nil && i >= 0 && i < len(v):
			s.look(v[i], rest)
			return
		}
	}
	s.lacks = true
}

// A pattern is what a rule wants of a value. That of a number, or of a number's bounds, is least and most.
type pattern struct {
	value       any
	numbers     bool
	least, most *big.Float
}

func readPattern(text json.RawMessage) pattern {
	value, err := newReader(string(text)).read(0)
	if err != nil {
		return pattern{value: errAmbiguous} // no value is equal to it
	}
	switch v := value.(type) {
	case json.Number:
		n := exactly(string(v))
		return pattern{numbers: n != nil, least: n, most: n}
	case argumentTree:
		least, most, sound := boundsOf(text)
		return pattern{numbers: sound, value: errAmbiguous, least: least, most: most}
	}
	return pattern{value: value}
}

// boundsOf are the bounds of a number in an object of them, nil where one is absent. ok is false where the text is none, or a
// bound of it is no number that can be compared.
func boundsOf(text json.RawMessage) (least, most *big.Float, ok bool) {
	var bounds struct {
		AtLeast *json.Number `json:"at_least"`
		AtMost  *json.Number `json:"at_most"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	ok = d.Decode(&bounds) == nil
	if bound := bounds.AtLeast; bound != nil {
		least = exactly(string(*bound))
		ok = ok && least != nil
	}
	if bound := bounds.AtMost; bound != nil {
		most = exactly(string(*bound))
		ok = ok && most != nil
	}
	return least, most, ok
}

func (p pattern) match(value any) bool {
	if p.numbers {
		number, ok := value.(json.Number)
		n := exactly(string(number))
		return ok && n != nil && (p.least == nil || n.Cmp(p.least) >= 0) && (p.most == nil || n.Cmp(p.most) <= 0)
	}
	if wanted, ok := p.value.(string); ok {
		text, ok := value.(string)
		return ok && len(text) <= maxMatched && matchText(wanted, text)
	}
	return reflect.DeepEqual(p.value, value)
}

// matchAny matches what a tool may take for the value that is meant: a list or an object that holds it, a number
// that is written as a text, or a text that is written as a number; and what is too long to tell.
func (p pattern) matchAny(value any) bool {
	if p.match(value) {
		return true
	}
	switch v := value.(type) {
	case []any:
		return slices.ContainsFunc(v, p.matchAny)
	case argumentTree:
		for _, one := range v {
			if p.matchAny(one.value) {
				return true
			}
		}
	case json.Number:
		return p.numbers && exactly(string(v)) == nil || p.match(string(v))
	case bool:
		return p.match(strconv.FormatBool(v))
	case string:
		text := strings.TrimSpace(v)
		return len(text) > maxMatched || p.match(text == "true") && (text == "true" || text == "false") || p.match(json.Number(text))
	}
	return false
}

// exactly is a number with all of its digits, as 50.0000000000000001 is above 50. It is nil for what is none, or is
// longer than any that a rule is about.
func exactly(text string) *big.Float {
	if len(text) > maxDigits {
		return nil
	}
	n, _, err := big.ParseFloat(text, 10, digitBits, big.ToNearestEven)
	if err != nil {
		return nil
	}
	return n
}

const (
	maxDigits = 400
	// digitBits hold them: a digit takes 3.3.
	digitBits = 1400
)

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
