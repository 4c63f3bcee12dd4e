package document

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"
)

// A Piece is a part of a value that is written as JSON.
type Piece struct {
	// Raw is JSON, whole only with the pieces around it.
	Raw string
	// Text is the node of a text; nil: Raw.
	Text *yaml.Node
}

// JSON is any mapping as JSON, keys in the order of the file; then returns what is wrong with it.
func JSON(then func(json.RawMessage) string) Value {
	return Value{&jsonschema.Schema{Type: "object"}, func(r *Reader, field string, node *yaml.Node) {
		before := len(r.Problems)
		if !r.is(field, node, yaml.MappingNode) {
			return
		}
		var b bytes.Buffer
		for _, piece := range r.Pieces(field, node) {
			if piece.Text != nil {
				piece.Raw = Quote(piece.Text.Value)
			}
			b.WriteString(piece.Raw)
		}
		if len(r.Problems) > before {
			return
		}
		if wrong := then(b.Bytes()); wrong != "" {
			r.Problem(node, field, "%s", wrong)
		}
	}}
}

// Pieces writes any value as JSON, its keys in the order of the file.
func (r *Reader) Pieces(field string, node *yaml.Node) []Piece {
	w := &writer{Reader: r}
	w.value(field, node, 0)
	return w.flush(nil)
}

// Quote writes a text as JSON, with <, > and & as they are.
func Quote(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a text cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

type writer struct {
	*Reader
	raw    strings.Builder
	pieces []Piece
}

func (w *writer) flush(text *yaml.Node) []Piece {
	if w.raw.Len() > 0 {
		w.pieces = append(w.pieces, Piece{Raw: w.raw.String()})
		w.raw.Reset()
	}
	if text != nil {
		w.pieces = append(w.pieces, Piece{Text: text})
	}
	return w.pieces
}

func (w *writer) value(field string, node *yaml.Node, depth int) {
	if node = w.Reader.value(field, node); node == nil {
		w.raw.WriteString("null")
		return
	}
	if depth > maxDepth {
		w.tooDeep(node, field)
		w.nodes = min(w.nodes, -1) // nothing more is read
		return
	}
	switch node.Kind {
	case yaml.MappingNode:
		w.mapping(field, node, depth)
	case yaml.SequenceNode:
		w.raw.WriteByte('[')
		for i, item := range node.Content {
			if i > 0 {
				w.raw.WriteByte(',')
			}
			w.value(field+"["+strconv.Itoa(i)+"]", item, depth+1)
		}
		w.raw.WriteByte(']')
	case yaml.ScalarNode:
		w.scalar(field, node)
	case yaml.DocumentNode, yaml.AliasNode: // value returns none
	}
}

func (w *writer) mapping(field string, node *yaml.Node, depth int) {
	w.raw.WriteByte('{')
	given := Given{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		inner, ok := w.key(field, node.Content[i], nil, given)
		if !ok {
			continue
		}
		if len(given) > 1 {
			w.raw.WriteByte(',')
		}
		w.raw.WriteString(Quote(node.Content[i].Value) + ":")
		w.value(inner, node.Content[i+1], depth+1)
	}
	w.raw.WriteByte('}')
}

func (w *writer) scalar(field string, node *yaml.Node) {
	switch node.ShortTag() {
	case tagNull:
		w.raw.WriteString("null")
	case tagBool, tagInt, tagFloat:
		raw := []byte(node.Value) // as it is written, so nothing is rounded
		if !json.Valid(raw) {
			var value any
			err := node.Decode(&value)
			if err == nil {
				raw, err = json.Marshal(value)
			}
			if err != nil {
				w.Problem(node, field, "is %s, which JSON cannot hold; give another, or put it in quotes", Shorten(node.Value))
			}
		}
		w.raw.Write(raw)
	default:
		w.flush(node)
	}
}
