package agentfile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
	"everstep/domain/spelling"
)

// The tags that the YAML parser gives to scalars.
const (
	tagText  = "!!str"
	tagInt   = "!!int"
	tagFloat = "!!float"
	tagBool  = "!!bool"
	tagNull  = "!!null"
)

// A reader reads the nodes of one file. It goes on after a problem, so that all
// are found.
type reader struct {
	file string
	// folder is where files are found that this one names.
	folder string
	// offset is the lines of the file before the YAML.
	offset   int
	problems Problems
}

// A key is a key of a mapping, with what reads its value.
type key struct {
	name string
	read func(field string, node *yaml.Node)
}

// mapping reads a node whose keys are all known, each at most once, and none
// without a value. It returns the values that are there.
func (r *reader) mapping(field string, node *yaml.Node, keys ...key) map[string]*yaml.Node {
	if !r.is(field, node, yaml.MappingNode) {
		return nil
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	seen := make(map[string]*yaml.Node, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		at := slices.Index(names, name.Value)
		inner := join(field, shorten(name.Value))
		switch {
		case name.Kind == yaml.AliasNode: // told already
			continue
		case name.Kind != yaml.ScalarNode:
			r.problem(name, field, "has a key that is %s; keys are texts", describe(name))
			continue
		case name.Value == "<<" && name.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0:
			r.problem(name, inner, "merge keys are not supported; write the keys out")
			continue
		case at < 0:
			r.problem(name, inner, "there is no such key; %s", suggest(name.Value, names))
			continue
		}
		if first, twice := seen[name.Value]; twice {
			r.problem(name, inner, "is given twice, first in line %d; keep one", first.Line+r.offset)
			continue
		}
		seen[name.Value] = name
		if value.Kind == yaml.ScalarNode && value.ShortTag() == tagNull {
			r.problem(value, inner, "is empty; give it a value or leave the key out")
			continue
		}
		if !told(value) {
			keys[at].read(inner, value)
		}
	}
	return seen
}

// list reads each item of a list, and reports what is empty in it.
func (r *reader) list(field string, node *yaml.Node, item func(field string, node *yaml.Node)) {
	if !r.is(field, node, yaml.SequenceNode) {
		return
	}
	for i, n := range node.Content {
		inner := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case told(n):
		case n.Kind == yaml.ScalarNode && n.ShortTag() == tagNull:
			r.problem(n, inner, "is empty; give it a value or leave the item out")
		default:
			item(inner, n)
		}
	}
}

// told reports whether plain has told what is wrong with a value.
func told(node *yaml.Node) bool {
	return node.Kind == yaml.AliasNode || node.Style&yaml.TaggedStyle != 0
}

// is reports a node of another kind.
func (r *reader) is(field string, node *yaml.Node, kind yaml.Kind) bool {
	if node.Kind == kind {
		return true
	}
	want := map[yaml.Kind]string{yaml.MappingNode: "a mapping of keys to values", yaml.SequenceNode: "a list"}[kind]
	hint := ""
	if kind == yaml.SequenceNode && node.Kind == yaml.ScalarNode {
		hint = "; write it as [" + shorten(node.Value) + "]"
	}
	r.problem(node, field, "is %s, not %s%s", describe(node), want, hint)
	return false
}

// describe says what a value is.
func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		switch node.ShortTag() {
		case tagInt, tagFloat:
			return "a number"
		case tagBool:
			return "true or false"
		case tagNull:
			return "empty"
		case tagText:
			return "a text"
		}
		return "a date"
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return "an alias"
}

// suggest names the word that was most likely meant, or all.
func suggest(word string, names []string) string {
	if near, ok := spelling.Nearest(word, names); ok {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "there are " + strings.Join(names, ", ")
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

// shorten is a text of the file as a message quotes it.
func shorten(text string) string {
	if short := domain.Shorten(text, 60); short != text {
		return short + "…"
	}
	return text
}
