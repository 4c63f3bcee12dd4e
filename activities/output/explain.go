package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A report collects what is wrong with a value, place by place.
type report struct {
	*graph
	lines []string
	more  int
	// weight says how far the value is from fitting, to find the nearest of
	// several alternatives.
	weight int
}

const (
	// heavy is the weight of a value of the wrong type, and telling that of one
	// that is not the one to be: such a property tells alternatives apart.
	heavy   = 1000
	telling = 10
)

// explain says why a value does not fit, which the library has found.
func (g *graph) explain(v *value) string {
	r := &report{graph: g}
	r.visit(g.root, v, nil)
	if len(r.lines) == 0 {
		return "the answer does not fit its schema: it has properties or items that no part of the schema allows"
	}
	return lines(r.lines, r.more)
}

func (r *report) add(weight int, at *place, format string, args ...any) {
	r.weight += weight
	if len(r.lines) >= maxLines {
		r.more++
		return
	}
	r.lines = append(r.lines, fmt.Sprintf("at %s: ", at)+fmt.Sprintf(format, args...))
}

// try reports on a value by itself.
func (r *report) try(s *jsonschema.Schema, v *value, at *place) *report {
	own := &report{graph: r.graph}
	own.visit(s, v, at)
	return own
}

func (r *report) fits() bool { return len(r.lines) == 0 }

func (r *report) visit(s *jsonschema.Schema, v *value, at *place) {
	if ref := r.refs[s]; ref != nil {
		r.visit(ref, v, at)
		if r.old {
			return
		}
	}
	if !r.typed(s, v, at) {
		return
	}
	r.same(s, v, at)
	r.measures(s, v, at)
	for _, all := range s.AllOf {
		r.visit(all, v, at)
	}
	r.alternatives(s.AnyOf, v, at, false)
	r.alternatives(s.OneOf, v, at, true)
	if s.Not != nil && r.try(s.Not, v, at).fits() {
		r.add(1, at, "is what the schema excludes")
	}
	r.condition(s, v, at)
	if _, ok := v.plain.([]any); ok {
		r.items(s, v, at)
	}
	if v.fields != nil {
		r.object(s, v, at)
	}
}

// typed reports whether the value is of a type that the schema takes. If not,
// there is nothing more to say of it.
func (r *report) typed(s *jsonschema.Schema, v *value, at *place) bool {
	wanted := s.Types
	if s.Type != "" {
		wanted = []string{s.Type}
	}
	kind := v.kind()
	if wanted == nil || slices.Contains(wanted, kind) || kind == "integer" && slices.Contains(wanted, "number") {
		return true
	}
	r.add(heavy, at, "must be of type %s and is of type %s", strings.Join(wanted, " or "), kind)
	return false
}

// same checks enum and const.
func (r *report) same(s *jsonschema.Schema, v *value, at *place) {
	if s.Const != nil && !jsonschema.Equal(*s.Const, v.plain) {
		r.add(telling, at, "must be %s and is %s", brief(*s.Const), brief(v.plain))
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return jsonschema.Equal(e, v.plain) }) {
		var names []string
		for _, e := range s.Enum[:min(len(s.Enum), 8)] {
			names = append(names, brief(e))
		}
		if more := len(s.Enum) - len(names); more > 0 {
			names = append(names, fmt.Sprintf("or %d others", more))
		}
		r.add(telling, at, "is %s and must be one of %s", brief(v.plain), strings.Join(names, ", "))
	}
}

// alternatives checks anyOf and oneOf. Where none fits, what is wrong with the
// nearest one says most.
func (r *report) alternatives(list []*jsonschema.Schema, v *value, at *place, one bool) {
	var best *report
	fitting := 0
	for _, s := range list {
		tried := r.try(s, v, at)
		if tried.fits() {
			fitting++
			continue
		}
		if best == nil || tried.weight < best.weight {
			best = tried
		}
	}
	switch {
	case fitting == 0 && best != nil && best.weight >= heavy && len(list) > 1:
		r.add(heavy, at, "is of type %s and fits none of the %d alternatives", v.kind(), len(list))
	case fitting == 0 && best != nil:
		for _, line := range best.lines {
			if len(list) > 1 {
				line += fmt.Sprintf(" (by the nearest of %d alternatives)", len(list))
			}
			if len(r.lines) < maxLines {
				r.lines = append(r.lines, line)
			} else {
				r.more++
			}
		}
		r.weight, r.more = r.weight+best.weight, r.more+best.more
	case one && fitting > 1:
		r.add(1, at, "fits %d of the %d alternatives and may fit only one", fitting, len(list))
	}
}

func (r *report) condition(s *jsonschema.Schema, v *value, at *place) {
	if s.If == nil {
		return
	}
	next := s.Else
	if r.try(s.If, v, at).fits() {
		next = s.Then
	}
	if next != nil {
		r.visit(next, v, at)
	}
}
