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

const sizeOfHalf = 3

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

// A writing is a text that comes in pieces, which may be cut within a character.
type writing struct {
	strings.Builder

	// first is half a character at the end, which waits for the other.
	first []uint16
}

// write adds a piece, and returns what is whole with it.
func (w *writing) write(piece string) string {
	if len(w.first) > 0 || !utf8.ValidString(piece) {
		units := w.first
		for piece != "" {
			one, size := utf8.DecodeRuneInString(piece)
			if half := halfOf(piece); half != 0 {
				units, size = append(units, half), sizeOfHalf
			} else {
				units = utf16.AppendRune(units, one)
			}
			piece = piece[size:]
		}
		w.first = nil
		if end := len(units) - 1; end >= 0 && units[end]&0xfc00 == 0xd800 {
			units, w.first = units[:end], units[end:]
		}
		piece = string(utf16.Decode(units))
	}
	w.WriteString(piece)
	return piece
}

// all is all of the text. A half that no other follows cannot be read.
func (w *writing) all() string { return w.String() + string(utf16.Decode(w.first)) }

// halfOf is the half of a character with which a text begins, or zero.
func halfOf(text string) uint16 {
	if len(text) < sizeOfHalf || text[0] != 0xed || text[1] < 0xa0 || text[1] > 0xbf || text[2] < 0x80 || text[2] > 0xbf {
		return 0
	}
	return 0xd000 | uint16(text[1]&0x3f)<<6 | uint16(text[2]&0x3f)
}
