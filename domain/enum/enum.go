// Package enum reads words of which only a few are known.
//
// Its one rule: what is not known is an error that names what is.
package enum

import (
	"fmt"
	"slices"
	"strings"
)

// Decode sets *target to text if it is one of known, else returns an error
// that names what was expected.
func Decode[E ~string](target *E, text []byte, known []E, what string) error {
	value := E(text)
	if !slices.Contains(known, value) {
		return fmt.Errorf("%s: %q is none of %s", what, string(text), Names(known, ", "))
	}
	*target = value
	return nil
}

// Names are the words themselves, joined.
func Names[E ~string](known []E, separator string) string {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	return strings.Join(names, separator)
}

// DecodeOr is Decode for words that may be left out: the empty text is absent.
func DecodeOr[E ~string](target *E, text []byte, known []E, what string, absent E) error {
	if len(text) == 0 {
		*target = absent
		return nil
	}
	return Decode(target, text, known, what)
}
