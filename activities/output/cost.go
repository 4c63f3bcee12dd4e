package output

import (
	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// maxVisits bounds how often a schema may meet a value in one check.
	maxVisits = 2_000_000
	// maxWriting bounds the bytes of errors that the library may write on its
	// way through alternatives: it prints every value that does not fit one,
	// and again at each level above.
	maxWriting = 256 << 20
	// maxStack bounds how many schemas are open at once: a stack that is used up
	// would end the process.
	maxStack = 5_000
)

// A bill is what a check may still cost.
type bill struct {
	*graph
	visits  int
	writing int
	stack   int
}

// affordable reports whether a value can be checked in reasonable time. It
// counts what the library would do if it never stopped at the first mistake.
func (g *graph) affordable(v *value) bool {
	b := &bill{graph: g, visits: maxVisits, writing: maxWriting, stack: maxStack}
	return b.visit(g.root, v, 0)
}

// visit counts one schema on one value. Choices says how many alternatives lie
// around it.
func (b *bill) visit(s *jsonschema.Schema, v *value, choices int) bool {
	b.stack--
	defer func() { b.stack++ }()
	b.visits -= 1 + len(s.Enum)
	b.writing -= choices * (64 + v.size)
	if text, ok := v.plain.(string); ok && s.Pattern != "" {
		b.match(s.Pattern, text)
	}
	if s.UniqueItems {
		b.compare(v)
	}
	if b.visits < 0 || b.writing < 0 || b.stack < 0 {
		return false
	}
	if ref := b.refs[s]; ref != nil {
		if fits := b.visit(ref, v, choices); !fits || b.old {
			return fits
		}
	}
	return b.beside(s, v, choices) && b.items(s, v, choices) && b.members(s, v, choices)
}

func (b *bill) beside(s *jsonschema.Schema, v *value, choices int) bool {
	for _, all := range s.AllOf {
		if !b.visit(all, v, choices) {
			return false
		}
	}
	for _, list := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf, {s.Not, s.If}} {
		for _, choice := range list {
			if choice != nil && !b.visit(choice, v, choices+1) {
				return false
			}
		}
	}
	for _, next := range []*jsonschema.Schema{s.Then, s.Else} {
		if next != nil && !b.visit(next, v, choices) {
			return false
		}
	}
	for _, group := range []map[string]*jsonschema.Schema{s.DependentSchemas, s.DependencySchemas} {
		for key, next := range group {
			if v.fields[key] != nil && !b.visit(next, v, choices) {
				return false
			}
		}
	}
	return true
}

func (b *bill) items(s *jsonschema.Schema, v *value, choices int) bool {
	for i, item := range v.list {
		first := s.PrefixItems
		if b.old {
			first = s.ItemsArray
		}
		for _, next := range []*jsonschema.Schema{s.Items, s.AdditionalItems, s.UnevaluatedItems} {
			if next != nil && i >= len(first) && !b.visit(next, item, choices) {
				return false
			}
		}
		if i < len(first) && !b.visit(first[i], item, choices) {
			return false
		}
		if s.Contains != nil && !b.visit(s.Contains, item, choices+1) {
			return false
		}
	}
	return true
}

func (b *bill) members(s *jsonschema.Schema, v *value, choices int) bool {
	b.visits -= len(v.keys)
	for _, key := range v.keys {
		member := v.fields[key]
		known := s.Properties[key] != nil
		if known && !b.visit(s.Properties[key], member, choices) {
			return false
		}
		for pattern, next := range s.PatternProperties {
			if !b.match(pattern, key) {
				continue
			}
			if known = true; !b.visit(next, member, choices) {
				return false
			}
		}
		if s.AdditionalProperties != nil && !known && !b.visit(s.AdditionalProperties, member, choices) {
			return false
		}
		if s.UnevaluatedProperties != nil && !b.visit(s.UnevaluatedProperties, member, choices) {
			return false
		}
		if s.PropertyNames != nil && !b.visit(s.PropertyNames, nameValue(key), choices) {
			return false
		}
	}
	return b.visits >= 0
}

// match counts what a regular expression costs, and says whether it matches,
// where that is still affordable.
func (b *bill) match(pattern, text string) bool {
	e := b.patterns[pattern]
	b.visits -= 1 + (len(text)+1)*e.cost/64
	return b.visits >= 0 && e.MatchString(text)
}

// compare counts what it takes to tell the items of a list from each other.
// Those that are lists or objects may have to be compared one with each other.
func (b *bill) compare(v *value) {
	composite := 0
	for _, item := range v.list {
		if item.composite() {
			composite++
		}
	}
	b.visits -= len(v.list) + composite*composite/32
}

func nameValue(key string) *value { return &value{plain: key, size: len(key) + 2} }
