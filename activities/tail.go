package activities

import (
	"strings"
	"unicode/utf8"
)

// A tail is the end of a text that grows, in whole characters.
type tail struct {
	// most bounds what is kept of it, in bytes.
	most int
	// length is how long the text is.
	length int
	end    []byte
}

// add adds to the text. What is not UTF-8 is replaced, so that the text can be
// shown and its bytes counted alike by everyone.
func (t *tail) add(piece string) {
	piece = strings.ToValidUTF8(piece, "\uFFFD")
	t.length += len(piece)
	t.end = append(t.end, piece[max(0, len(piece)-t.most):]...)
	if len(t.end) > 4*t.most {
		t.end = append(t.end[:0], t.end[len(t.end)-t.most:]...)
	}
}

// String returns the end, from where a character begins.
func (t *tail) String() string {
	end := t.end[max(0, len(t.end)-t.most):]
	for len(end) > 0 && !utf8.RuneStart(end[0]) {
		end = end[1:]
	}
	return string(end)
}
