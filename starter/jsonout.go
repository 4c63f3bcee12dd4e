package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// json writes a value as one line of JSON on standard output.
func (p *program) json(value any) error {
	line, err := encode(value)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	if _, err := p.out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// encode returns JSON that is safe on a terminal: what clean would replace is
// escaped, so that its value stays the same.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return escape(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// escape replaces characters that can only stand inside of JSON's strings.
func escape(text []byte) []byte {
	safe := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == 0x7f || harmful(r):
			for _, unit := range utf16.Encode([]rune{r}) {
				safe = fmt.Appendf(safe, `\u%04x`, unit)
			}
		case r == utf8.RuneError && size == 1: // raw JSON of others
			safe = append(safe, `\ufffd`...)
		default:
			safe = append(safe, text[i:i+size]...)
		}
		i += size
	}
	return safe
}
