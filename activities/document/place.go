package document

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Place is where a value stands in a file that is read.
type Place struct {
	Reader *Reader
	// Field is the key that leads there, such as budget.max_steps; empty: it is the whole file.
	Field string
	Node  *yaml.Node
}

// At is the place of a node, to which a field leads.
func (r *Reader) At(field string, node *yaml.Node) Place { return Place{r, field, node} }

// On is the place of another node, to which the same field leads.
func (p Place) On(node *yaml.Node) Place { return p.Reader.At(p.Field, node) }

// In is the place of a key's value, or of the key, in a mapping.
func (p Place) In(key string, node *yaml.Node) Place {
	return p.Reader.At(Join(p.Field, Shorten(key)), node)
}

// Join is the field of a key in another field.
func Join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

// Says is a problem with what stands there, which nobody is told of yet.
func (p Place) Says(format string, args ...any) Problem {
	return Problem{p.Reader.File, max(p.Node.Line, 1) + p.Reader.Offset, max(p.Node.Column, 1), p.Field, fmt.Sprintf(format, args...)}
}

// Problem notes what is wrong with what stands there.
func (p Place) Problem(format string, args ...any) {
	p.Reader.Problems = append(p.Reader.Problems, p.Says(format, args...))
}

// Wrong is Problem for what a check returns, which is empty where nothing is wrong.
func (p Place) Wrong(message string) {
	if message != "" {
		p.Problem("%s", message)
	}
}

func (p Place) tooDeep() { p.Problem("nests deeper than %d levels; make it flatter", maxDepth) }

// value returns the node that stands for a value, nil where all about it is told.
func (p Place) value() *yaml.Node {
	r, node := p.Reader, p.Node
	if !r.Loose && (node.Kind == yaml.AliasNode || node.Style&yaml.TaggedStyle != 0) {
		return nil // plain has told
	}
	for {
		if r.nodes++; r.nodes > maxNodes {
			if r.nodes == maxNodes+1 {
				p.On(node).Problem("has too many values; aliases may repeat themselves")
			}
			return nil
		}
		if node.Kind != yaml.AliasNode {
			return node
		}
		node = node.Alias
	}
}

// given hands on a value of a key or an item that there is.
func (p Place) given(what string, each func(at Place)) {
	switch node := p.value(); {
	case node == nil:
	case node.ShortTag() == tagNull:
		p.On(node).Problem("is empty; "+give, what)
	default:
		each(p.On(node))
	}
}

// Given are the keys of a mapping that are there, with the nodes of their names.
type Given map[string]*yaml.Node

// Entries reads a mapping of known keys, nil for any, each once and none without a value.
func (p Place) Entries(known []string, each func(name *yaml.Node, at Place)) Given {
	if !p.is(yaml.MappingNode) {
		return nil
	}
	given := make(Given, len(p.Node.Content)/2)
	for name, value := range Pairs(p.Node) {
		if p.key(name, known, given) {
			p.In(name.Value, value).given("key", func(at Place) { each(name, at) })
		}
	}
	return given
}

// Pairs are the keys of a mapping with their values; of what is none, and of nil, there are none.
func Pairs(mapping *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(name, value *yaml.Node) bool) {
		for i := 0; mapping != nil && mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
			if !yield(mapping.Content[i], mapping.Content[i+1]) {
				return
			}
		}
	}
}

// Valued are the keys of a mapping that have a value, and the values; an alias is replaced by the value that it names.
func Valued(mapping *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(name, value *yaml.Node) bool) {
		for name, value := range Pairs(mapping) {
			if value.Kind == yaml.AliasNode {
				value = value.Alias
			}
			if value.ShortTag() != tagNull && !yield(name, value) {
				return
			}
		}
	}
}

// Member is the value of a mapping's key; nil: it has none.
func Member(mapping *yaml.Node, key string) *yaml.Node {
	for name, value := range Valued(mapping) {
		if name.Value == key {
			return value
		}
	}
	return nil
}

// WithValues is a mapping without the keys that have no value; what is none stays as it is.
func WithValues(node *yaml.Node) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return node
	}
	made := *node
	made.Content = nil
	for name, value := range Valued(node) {
		made.Content = append(made.Content, name, value)
	}
	return &made
}

// key checks a mapping's key, and reports whether its value is read.
func (p Place) key(name *yaml.Node, known []string, given Given) bool {
	r, at := p.Reader, p.In(name.Value, name)
	first, twice := given[name.Value]
	switch {
	case name.Kind == yaml.AliasNode && !r.Loose: // told already
	case name.Kind != yaml.ScalarNode:
		p.On(name).Problem("has a key that is %s; keys are texts", Describe(name))
	case name.Value == "<<" && name.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0:
		at.Problem("merge keys are not supported; write the keys out")
	case known != nil && !slices.Contains(known, name.Value):
		hint := Suggest(name.Value, known)
		if p.Field == "" && r.Keys != "" && strings.HasPrefix(hint, thereAre) {
			hint = r.Keys
		}
		at.Problem("there is no such key; %s", hint)
	case twice:
		at.Problem("is given twice, first in line %d; keep one", first.Line+r.Offset)
	default:
		given[name.Value] = name
		return true
	}
	return false
}

// Mapping reads a mapping whose keys are all known, and says which it lacks.
func (p Place) Mapping(keys Keys) Given {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	given := p.Entries(names, func(name *yaml.Node, at Place) {
		keys[slices.Index(names, name.Value)].Value.Read(at)
	})
	for _, k := range keys {
		if k.Needed != "" && given != nil && given[k.Name] == nil {
			p.In(k.Name, p.Node).Problem("is missing; %s", k.Needed)
		}
	}
	return given
}

// Items reads each item of a list, and reports what is empty in it.
func (p Place) Items(each func(at Place)) {
	if !p.is(yaml.SequenceNode) {
		return
	}
	for i, node := range p.Node.Content {
		p.Item(i, node).given("item", each)
	}
}

// Item is the place of an item of a list.
func (p Place) Item(i int, node *yaml.Node) Place {
	return p.Reader.At(fmt.Sprintf("%s[%d]", p.Field, i), node)
}

func (p Place) is(kind yaml.Kind) bool {
	node := p.Node
	if node.Kind == kind {
		return true
	}
	want, hint := "a mapping of keys to values", ""
	if kind == yaml.SequenceNode {
		if want = "a list"; node.Kind == yaml.ScalarNode {
			hint = "; write it as [" + Shorten(node.Value) + "]"
		}
	}
	p.Problem("is %s, not %s%s", Describe(node), want, hint)
	return false
}

func (p Place) text() (string, bool) {
	switch node := p.Node; {
	case node.Kind != yaml.ScalarNode:
		p.Problem("is %s, not a text", Describe(node))
	case p.Reader.Loose:
		return node.Value, true
	case node.ShortTag() != tagText:
		p.Problem("is %s, not a text; put it in quotes", Describe(node))
	case strings.TrimSpace(node.Value) == "":
		p.Problem("is empty; "+give, "key")
	default:
		return node.Value, true
	}
	return "", false
}
