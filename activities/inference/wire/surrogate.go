package wire

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"everstep/activities/inference"
)

// Servers that cut a text at any place also cut it within a character beyond U+FFFF, which JSON can write as two escapes.
// Half of one is kept as three bytes that are no UTF-8, as UTF-8 would encode its number, until the other half has come.

// half is how many bytes half a character has.
const half = 3

// decodeText decodes a JSON string, with halves of characters in it.
func decodeText(quoted []byte) (string, error) {
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil || !strings.ContainsRune(text, utf8.RuneError) {
		return text, err
	}
	var out strings.Builder
	begin := 1
	add := func(end int) {
		_ = json.Unmarshal(slices.Concat([]byte{'"'}, quoted[begin:end], []byte{'"'}), &text) // a part of a string is one
		out.WriteString(text)
	}
	for _, at := range inference.Halves(quoted) {
		add(at)
		number, _ := strconv.ParseUint(string(quoted[at+len(`\u`):at+len(`\uD83D`)]), 16, 16) // it is one
		out.Write([]byte{0xed, 0x80 | byte(number>>6&0x3f), 0x80 | byte(number&0x3f)})
		begin = at + len(`\uD83D`)
	}
	add(len(quoted) - 1)
	return out.String(), nil
}

// A joiner puts the halves of characters together that come in two pieces.
type joiner struct{ first string }

// join is what of a text is whole with a piece more. A half at its end waits for the other.
func (j *joiner) join(piece string) string {
	text := j.first + piece
	j.first = ""
	if utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		one := halfOf(text)
		size := half
		switch {
		case one == 0:
			_, size = utf8.DecodeRuneInString(text)
			out.WriteString(text[:size])
		case utf16.DecodeRune(one, halfOf(text[half:])) != utf8.RuneError:
			out.WriteRune(utf16.DecodeRune(one, halfOf(text[half:])))
			size = 2 * half
		case len(text) == half && utf16.DecodeRune(one, 0xdc00) != utf8.RuneError:
			j.first = text
		default:
			out.WriteRune(utf8.RuneError)
		}
		text = text[size:]
	}
	return out.String()
}

// last is what is left at the end of the text.
func (j *joiner) last() string {
	if j.first == "" {
		return ""
	}
	return string(utf8.RuneError)
}

// halfOf is the half of a character with which a text begins, or zero.
func halfOf(text string) rune {
	if len(text) < half || text[0] != 0xed || text[1] < 0xa0 || text[1] > 0xbf || text[2] < 0x80 || text[2] > 0xbf {
		return 0
	}
	return 0xd000 | rune(text[1]&0x3f)<<6 | rune(text[2]&0x3f)
}
