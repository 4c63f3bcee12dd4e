// Package enum reads words of which only a few are known.
//
// Its one rule: an enum is its constants and an UnmarshalText that names them once, in their order, for [Decode]. What
// is not known is an error that names what is, and [Known] lists it.
package enum

import (
	"encoding"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// An unknown is the error of a word that is none of those that are known.
type unknown struct{ what, text, known string }

func (u *unknown) Error() string {
	return fmt.Sprintf("%s: %.60q is none of %s", u.what, u.text, u.known)
}

const separator = ", "

// Decode sets *target to text if it is one of the known words, else returns an error that names them.
func Decode[E ~string](target *E, text []byte, what string, known ...E) error {
	value := E(text)
	if !slices.Contains(known, value) {
		return &unknown{what, string(text), Names(known, separator)}
	}
	*target = value
	return nil
}

// DecodeOr is Decode for words that may be left out: the empty text is absent.
func DecodeOr[E ~string](target *E, text []byte, what string, absent E, known ...E) error {
	if len(text) == 0 {
		*target = absent
		return nil
	}
	return Decode(target, text, what, known...)
}

// Known lists the words that an enum's UnmarshalText accepts, in their order.
func Known[E ~string, P interface {
	*E
	encoding.TextUnmarshaler
}]() (words []E) {
	// Each of them refuses what is no word, and names those that are.
	err, _ := errors.AsType[*unknown](P(new(E)).UnmarshalText([]byte("?")))
	for word := range strings.SplitSeq(err.known, separator) {
		words = append(words, E(word))
	}
	return words
}

// Names are the words themselves, joined.
func Names[E ~string](known []E, separator string) string {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	return strings.Join(names, separator)
}
