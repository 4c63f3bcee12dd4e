package output

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// A finding is one thing that is wrong with a value, and where.
type finding struct {
	at   place
	what string
}

// A report collects what the library found wrong with a value.
type report struct {
	value    any
	declared map[string][]string
	findings []finding
}

const (
	// heavy is the weight of a value of the wrong type, deeper that of a part of
	// it, and telling that of one that is not the one to be: such a property tells
	// alternatives apart.
	heavy   = 1000
	telling = 10
	deeper  = 2

	byNearest = " (by the nearest"
)

// explain says in lines what the library found wrong with a value, in the order
// of the places.
func explain(found error, value any, declared map[string][]string) []string {
	e, _ := errors.AsType[*jsonschema.ValidationError](found) // the library returns no other
	r := &report{value: value, declared: declared}
	r.visit(e, 0)
	compare := func(a, b finding) int {
		return cmp.Or(slices.CompareFunc(a.at, b.at, compareSteps), cmp.Compare(a.what, b.what))
	}
	slices.SortFunc(r.findings, compare)
	said := []string{}
	for _, f := range slices.CompactFunc(r.findings, func(a, b finding) bool { return compare(a, b) == 0 }) {
		said = append(said, "at "+f.at.String()+": "+f.what)
	}
	return said
}

// compareSteps orders the items of a list by their number.
func compareSteps(a, b string) int {
	i, noNumber := strconv.Atoi(a)
	k, neither := strconv.Atoi(b)
	if noNumber == nil && neither == nil {
		return cmp.Compare(i, k)
	}
	return strings.Compare(a, b)
}

// visit adds what an error says, and returns how far that is from fitting, to
// find the nearest of several alternatives for what lies that deep.
func (r *report) visit(e *jsonschema.ValidationError, depth int) (weight int) {
	at := place(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		return r.nearest(e, depth)
	case *kind.OneOf:
		if k.Subschemas == nil {
			return r.nearest(e, depth)
		}
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range e.Causes {
			weight += r.visit(cause, depth)
		}
		return weight
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			hint := ""
			if has := r.declared[e.SchemaURL]; len(has) > 0 {
				hint = ", or give one of " + choices(has)
			}
			r.add(at.step(name), "the schema has no such property; leave it out"+hint)
		}
		return len(k.Properties)
	case *kind.PropertyNames:
		r.add(at.step(k.Property), "is a name that the schema does not allow")
		return 1
	case *kind.UniqueItems:
		r.add(at.step(strconv.Itoa(k.Duplicates[1])), fmt.Sprintf("is the same as item %d; each may be there once", k.Duplicates[0]))
		return 1
	case *kind.Type:
		if weight = deeper; len(e.InstanceLocation) == depth {
			weight = heavy
		}
	case *kind.Const, *kind.Enum:
		weight = telling
	case *kind.Required:
		weight = len(k.Missing)
	}
	r.add(at, says(e.ErrorKind, at.in(r.value)))
	return max(weight, 1)
}

func (r *report) add(at place, what string) {
	r.findings = append(r.findings, finding{at, what})
}

// nearest tells of the alternative that a value came nearest to: what is wrong
// with that one says most.
func (r *report) nearest(e *jsonschema.ValidationError, depth int) int {
	at, before, best := place(e.InstanceLocation), len(r.findings), -1
	for _, cause := range e.Causes {
		end := len(r.findings)
		weight := r.visit(cause, len(at))
		if best >= 0 && weight >= best {
			r.findings = r.findings[:end]
			continue
		}
		best = weight
		r.findings = append(r.findings[:before], r.findings[end:]...)
	}
	switch of := len(e.Causes); {
	case of > 1 && best >= heavy:
		r.findings = r.findings[:before]
		r.add(at, fmt.Sprintf("is of type %s and fits none of the %d alternatives", kindOf(at.in(r.value)), of))
	case of > 1:
		for i, f := range r.findings[before:] {
			if !strings.Contains(f.what, byNearest) {
				r.findings[before+i].what += fmt.Sprintf("%s of %d alternatives)", byNearest, of)
			}
		}
	}
	if best >= heavy && len(at) > depth {
		return deeper
	}
	return best
}

func says(k jsonschema.ErrorKind, v any) string {
	const has, counted = "has %d %s and must have at least %d", "has %d %s and may have at most %d"
	bounded := func(rule string, bound *big.Rat) string {
		f, _ := bound.Float64()
		return fmt.Sprintf("is %s and must be %s %s", brief(v), rule, number(f))
	}
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be of type %s and is of type %s", strings.Join(k.Want, " or "), kindOf(v))
	case *kind.FalseSchema:
		return "the schema allows nothing here; leave it out"
	case *kind.Not:
		return "is what the schema excludes"
	case *kind.OneOf:
		return fmt.Sprintf("fits alternatives %d and %d and may fit only one", k.Subschemas[0]+1, k.Subschemas[1]+1)
	case *kind.Const:
		return fmt.Sprintf("must be %s and is %s", brief(k.Want), brief(v))
	case *kind.Enum:
		return fmt.Sprintf("is %s and must be one of %s", brief(v), choices(k.Want))
	case *kind.Required:
		return "lacks " + listed(k.Missing)
	case *kind.Minimum:
		return bounded("at least", k.Want)
	case *kind.Maximum:
		return bounded("at most", k.Want)
	case *kind.ExclusiveMinimum:
		return bounded("more than", k.Want)
	case *kind.ExclusiveMaximum:
		return bounded("less than", k.Want)
	case *kind.MultipleOf:
		return bounded("a multiple of", k.Want)
	case *kind.MinLength:
		return fmt.Sprintf(has, k.Got, "characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf(counted, k.Got, "characters", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf(has, k.Got, "items", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf(counted, k.Got, "items", k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf(has, k.Got, "properties", k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf(counted, k.Got, "properties", k.Want)
	case *kind.Pattern:
		return fmt.Sprintf("is %s and does not match the pattern %s", brief(v), quoted(k.Want))
	}
	return "does not fit its schema: " + shown(k.LocalizedString(message.NewPrinter(language.English)))
}

func listed[V any](values []V) string {
	said := make([]string, len(values))
	for i, v := range values {
		said[i] = brief(v)
	}
	return strings.Join(said, ", ")
}

// choices lists values, but not very many of them.
func choices[V any](values []V) string {
	few := values[:min(len(values), 8)]
	if more := len(values) - len(few); more > 0 {
		return fmt.Sprintf("%s, or %d others", listed(few), more)
	}
	return listed(few)
}
