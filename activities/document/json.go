package document

import (
	"bytes"
	"encoding/json"
	"slices"
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
	return Value{Schema: &jsonschema.Schema{Type: "object"}, Read: func(at Place) {
		before := len(at.Reader.Problems)
		if !at.is(yaml.MappingNode) {
			return
		}
		var b bytes.Buffer
		for _, piece := range at.Pieces() {
			if piece.Text != nil {
				piece.Raw = Encoded(piece.Text.Value)
			}
			b.WriteString(piece.Raw)
		}
		if len(at.Reader.Problems) == before {
			at.Wrong(then(b.Bytes()))
		}
	}}
}

// Pieces writes any value as JSON, its keys in the order of the file.
func (p Place) Pieces() []Piece {
	w := &writer{}
	w.value(p, 0)
	return w.flush(nil)
}

// Encoded writes a text, or another value that JSON can hold, as JSON with <, > and & as they are.
func Encoded(value any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // of what JSON holds it cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

type writer struct {
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

func (w *writer) value(at Place, depth int) {
	node := at.value()
	if node == nil {
		w.raw.WriteString("null")
		return
	}
	if at = at.On(node); depth > maxDepth {
		at.tooDeep()
		at.Reader.nodes = max(at.Reader.nodes, maxNodes+1) // nothing more is read
		return
	}
	switch {
	case node.Kind == yaml.MappingNode:
		w.raw.WriteByte('{')
		given := Given{}
		for name, value := range Pairs(node) {
			if !at.key(name, nil, given) {
				continue
			}
			if len(given) > 1 {
				w.raw.WriteByte(',')
			}
			w.raw.WriteString(Encoded(name.Value) + ":")
			w.value(at.In(name.Value, value), depth+1)
		}
		w.raw.WriteByte('}')
	case node.Kind == yaml.SequenceNode:
		w.raw.WriteByte('[')
		for i, item := range node.Content {
			if i > 0 {
				w.raw.WriteByte(',')
			}
			w.value(at.Item(i, item), depth+1)
		}
		w.raw.WriteByte(']')
	case node.ShortTag() == tagNull:
		w.raw.WriteString("null")
	case slices.Contains([]string{tagBool, tagInt, tagFloat}, node.ShortTag()):
		raw := []byte(node.Value) // as it is written, so nothing is rounded
		if !json.Valid(raw) {
			var value any
			err := node.Decode(&value)
			if err == nil {
				raw, err = json.Marshal(value)
			}
			if err != nil {
				at.Problem("is %s, which JSON cannot hold; give another, or put it in quotes", Shorten(node.Value))
			}
		}
		w.raw.Write(raw)
	default:
		w.flush(node)
	}
}
