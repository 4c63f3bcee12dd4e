package output

import (
	"math"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// measures checks numbers and texts.
func (r *report) measures(s *jsonschema.Schema, v *value, at *place) {
	switch p := v.plain.(type) {
	case float64:
		r.number(s, p, at)
	case string:
		r.size(at, "characters", utf8.RuneCountInString(p), s.MinLength, s.MaxLength)
		if s.Pattern != "" && !r.patterns[s.Pattern].MatchString(p) {
			r.add(1, at, "is %s and does not match the pattern %s", quoted(p), quoted(s.Pattern))
		}
	}
}

func (r *report) number(s *jsonschema.Schema, f float64, at *place) {
	wrong := func(bound *float64, bad func(bound float64) bool, rule string) {
		if bound != nil && bad(*bound) {
			r.add(1, at, "is %s and must be %s %s", number(f), rule, number(*bound))
		}
	}
	wrong(s.Minimum, func(b float64) bool { return f < b }, "at least")
	wrong(s.Maximum, func(b float64) bool { return f > b }, "at most")
	wrong(s.ExclusiveMinimum, func(b float64) bool { return f <= b }, "more than")
	wrong(s.ExclusiveMaximum, func(b float64) bool { return f >= b }, "less than")
	wrong(s.MultipleOf, func(b float64) bool {
		_, rest := math.Modf(f / b)
		return rest != 0
	}, "a multiple of")
}

// size checks a length against its bounds.
func (r *report) size(at *place, what string, n int, least, most *int) {
	if least != nil && n < *least {
		r.add(1, at, "has %d %s and must have at least %d", n, what, *least)
	}
	if most != nil && n > *most {
		r.add(1, at, "has %d %s and may have at most %d", n, what, *most)
	}
}

// unique finds items that are there twice.
func (r *report) unique(v *value, at *place) {
	places := map[any]int{}
	for i, item := range v.list {
		if !item.composite() {
			if first, twice := places[item.plain]; twice {
				r.add(1, at.item(i), "is the same as item %d; each may be there once", first)
				return
			}
			places[item.plain] = i
			continue
		}
		for k, other := range v.list[:i] {
			if jsonschema.Equal(item.plain, other.plain) {
				r.add(1, at.item(i), "is the same as item %d; each may be there once", k)
				return
			}
		}
	}
}
