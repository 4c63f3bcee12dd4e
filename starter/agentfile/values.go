package agentfile

import (
	"bytes"
	"encoding/json"
	"strconv"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
)

// options reads what is sent to the provider as it is.
func (r *reader) options(field string, node *yaml.Node) domain.Metadata {
	if !r.is(field, node, yaml.MappingNode) {
		return nil
	}
	var options domain.Metadata
	before := len(r.problems)
	raw := r.json(field, node)
	if len(r.problems) > before {
		return nil
	}
	if err := json.Unmarshal(raw, &options); err != nil {
		r.problem(node, field, "cannot be written as JSON: %s", err)
	}
	return options
}

// json writes a value as JSON, keys in the order of the file.
func (r *reader) json(field string, node *yaml.Node) json.RawMessage {
	var b bytes.Buffer
	r.write(&b, field, node)
	return b.Bytes()
}

func (r *reader) write(b *bytes.Buffer, field string, node *yaml.Node) {
	switch node.Kind {
	case yaml.MappingNode:
		r.writeMapping(b, field, node)
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range node.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			r.write(b, field+"["+strconv.Itoa(i)+"]", item)
		}
		b.WriteByte(']')
	case yaml.ScalarNode:
		r.writeScalar(b, field, node)
	case yaml.DocumentNode, yaml.AliasNode: // told already
		b.WriteString("null")
	}
}

func (r *reader) writeMapping(b *bytes.Buffer, field string, node *yaml.Node) {
	b.WriteByte('{')
	seen := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		inner := join(field, shorten(name.Value))
		if name.Kind != yaml.ScalarNode {
			r.problem(name, field, "has a key that is %s; keys are texts", describe(name))
			continue
		}
		if line, twice := seen[name.Value]; twice {
			r.problem(name, inner, "is given twice, first in line %d; keep one", line+r.offset)
			continue
		}
		if len(seen) > 0 {
			b.WriteByte(',')
		}
		seen[name.Value] = name.Line
		b.Write(quoted(name.Value))
		b.WriteByte(':')
		r.write(b, inner, value)
	}
	b.WriteByte('}')
}

func (r *reader) writeScalar(b *bytes.Buffer, field string, node *yaml.Node) {
	switch node.ShortTag() {
	case tagNull:
		b.WriteString("null")
	case tagBool, tagInt, tagFloat:
		if json.Valid([]byte(node.Value)) { // as it is written, so nothing is rounded
			b.WriteString(node.Value)
			return
		}
		var value any
		err := node.Decode(&value)
		if err == nil {
			var raw []byte
			if raw, err = json.Marshal(value); err == nil {
				b.Write(raw)
				return
			}
		}
		r.problem(node, field, "is %s, which JSON cannot hold; give another, or put it in quotes", shorten(node.Value))
	default:
		b.Write(quoted(node.Value))
	}
}

func quoted(text string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a text cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
