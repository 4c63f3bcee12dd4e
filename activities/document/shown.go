package document

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// A Shown is a mapping with what its keys hold, in the order in which they are printed.
type Shown []shownKey

type shownKey struct {
	name  string
	value any
}

// Shown are the keys whose values show something.
func (k Keys) Shown() (shown Shown) {
	for _, key := range k {
		if held := key.Value.Shown; held != nil {
			shown = append(shown, shownKey{key.Name, held})
		}
	}
	return shown
}

// MarshalJSON keeps the order of the keys.
func (s Shown) MarshalJSON() ([]byte, error) {
	var entries []string
	for _, key := range s {
		entries = append(entries, fmt.Sprintf("%q:%s", key.name, printable(Encoded(key.value))))
	}
	return []byte("{" + strings.Join(entries, ",") + "}"), nil
}

// printable is JSON with escapes for what YAML does not take as it is, such as control characters.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < unicode.MaxASCII || r > 0xffff || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// YAML is the text of a file of these keys.
func (s Shown) YAML() ([]byte, error) {
	// JSON is YAML: read as such it keeps the order of its keys.
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(Encoded(s)), &node); err != nil {
		return nil, err
	}
	unquote(&node)
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	err := errors.Join(encoder.Encode(&node), encoder.Close())
	return b.Bytes(), err
}

// unquote has a node written as people write YAML.
func unquote(node *yaml.Node) {
	if node.Style = 0; strings.HasPrefix(node.Value, "\t") {
		node.Style = yaml.DoubleQuotedStyle // as the parser takes no block that begins so
	}
	for _, child := range node.Content {
		unquote(child)
	}
}
