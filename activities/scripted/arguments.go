package scripted

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

func (r *reader) call(node *yaml.Node) (call, error) {
	c := call{text: "{}"}
	err := r.mapping(node, "a tool call",
		r.text("id", &c.id),
		r.text("name", &c.name),
		field{"arguments", func(node *yaml.Node) error { return r.arguments(node, &c) }},
	)
	if err == nil && c.name == "" {
		err = r.errorf(node, "a tool call has no name")
	}
	return c, err
}

// arguments reads a mapping, which becomes JSON, or a text, which is sent as
// it is, be it JSON or not.
func (r *reader) arguments(node *yaml.Node, c *call) error {
	node, err := r.follow(node)
	if err != nil {
		return err
	}
	switch {
	case node.Kind == yaml.MappingNode:
		v, err := r.value(node)
		c.arguments = &v
		return err
	case node.Kind == yaml.ScalarNode && node.Tag == "!!str":
		c.text = node.Value
		return nil
	}
	return r.errorf(node, "arguments is neither a mapping nor a text")
}

// value reads any node as JSON.
func (r *reader) value(node *yaml.Node) (value, error) {
	node, err := r.follow(node)
	if err != nil {
		return value{}, err
	}
	var v value
	switch node.Kind {
	case yaml.ScalarNode:
		return r.scalar(node)
	case yaml.MappingNode:
		v.object = true
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind != yaml.ScalarNode || slices.Contains(v.keys, key.Value) {
				return v, r.errorf(key, "the key %q is no text, or there twice", key.Value)
			}
			v.keys = append(v.keys, key.Value)
			item, err := r.value(node.Content[i+1])
			if err != nil {
				return v, err
			}
			v.items = append(v.items, item)
		}
	case yaml.SequenceNode:
		for _, n := range node.Content {
			item, err := r.value(n)
			if err != nil {
				return v, err
			}
			v.items = append(v.items, item)
		}
	case yaml.AliasNode, yaml.DocumentNode:
		return v, r.errorf(node, "cannot be a JSON value")
	}
	return v, nil
}

func (r *reader) scalar(node *yaml.Node) (value, error) {
	var v value
	switch node.Tag {
	case "!!null":
		v.raw = "null"
	case "!!bool":
		var b bool
		if err := node.Decode(&b); err != nil {
			return v, r.errorf(node, "%q is not true or false", node.Value)
		}
		v.raw = strconv.FormatBool(b)
	case "!!int", "!!float":
		if json.Valid([]byte(node.Value)) {
			v.raw = node.Value
			return v, nil
		}
		var f float64
		if err := node.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return v, r.errorf(node, "%q is not a number that JSON has", node.Value)
		}
		v.raw = strconv.FormatFloat(f, 'g', -1, 64)
	default:
		q, err := quote(node.Value)
		if err != nil {
			return v, r.errorf(node, "%s", err)
		}
		v.text = q
	}
	return v, nil
}

// render writes the value as JSON, its keys in the file's order.
func (v value) render(b *strings.Builder, s *scene) error {
	switch {
	case v.raw != "":
		b.WriteString(v.raw)
	case v.text != nil:
		text, err := v.text.render(s)
		if err != nil {
			return err
		}
		return writeString(b, text)
	default:
		return v.renderItems(b, s)
	}
	return nil
}

func (v value) renderItems(b *strings.Builder, s *scene) error {
	left, right := "[", "]"
	if v.object {
		left, right = "{", "}"
	}
	b.WriteString(left)
	for i, item := range v.items {
		if i > 0 {
			b.WriteString(",")
		}
		if v.object {
			if err := writeString(b, v.keys[i]); err != nil {
				return err
			}
			b.WriteString(":")
		}
		if err := item.render(b, s); err != nil {
			return err
		}
		if b.Len() > maxText {
			return fmt.Errorf("the arguments have more than %d bytes", maxText)
		}
	}
	b.WriteString(right)
	return nil
}

// writeString writes a JSON string with <, > and & as they are.
func writeString(b *strings.Builder, text string) error {
	encoder := json.NewEncoder(trimming{b})
	encoder.SetEscapeHTML(false)
	return encoder.Encode(text)
}

// trimming drops the line end that the encoder adds.
type trimming struct{ b *strings.Builder }

func (t trimming) Write(p []byte) (int, error) {
	t.b.WriteString(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
