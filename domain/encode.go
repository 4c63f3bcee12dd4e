package domain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Encode writes a value as JSON on one line that steers no terminal: control characters are escaped, so that the values stay
// the same, and <, > and & are as they are.
func Encode(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return escape(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// escape replaces characters that can only stand inside of JSON's strings. Nearly every text has none, and is returned as it is.
func escape(text []byte) []byte {
	var safe []byte
	copied := 0 // so much of the text is in safe
	for i := asciiLen(text); i < len(text); i += asciiLen(text[i:]) {
		r, size := utf8.DecodeRune(text[i:])
		if r == 0x7f || Steering(r) || r == utf8.RuneError && size == 1 { // the last is raw JSON of others
			safe = append(safe, text[copied:i]...)
			for _, unit := range utf16.Encode([]rune{r}) {
				safe = fmt.Appendf(safe, `\u%04x`, unit)
			}
			copied = i + size
		}
		i += size
	}
	if copied == 0 {
		return text
	}
	return append(safe, text[copied:]...)
}

// Steering reports whether a character beyond ASCII controls a terminal, or the order of others.
func Steering(r rune) bool {
	return r >= 0x80 && r <= 0x9f || // C1: a terminal may take U+009B for ESC [
		r >= 0xfff9 && r <= 0xfffb || // interlinear annotation
		r >= 0xe0000 && r <= 0xe007f || // tags, which show as nothing
		unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) // direction, and separators of lines
}

// asciiLen is how many bytes a text begins with that are ASCII, DEL aside.
func asciiLen(text []byte) int {
	for i, b := range text {
		if b >= 0x7f {
			return i
		}
	}
	return len(text)
}
