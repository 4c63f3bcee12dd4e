package wire

import (
	"everstep/domain"
)

// A Key is a source of a key. It is asked once for each attempt, so a key that
// was rotated is used from the next one on. An empty key means none. Its error
// says what to do and never holds the key. It is called by many at once.
type Key func() (string, error)

// FixedKey is a key that stays as it is. Empty is none.
func FixedKey(key string) Key { return func() (string, error) { return key, nil } }

// KeyFrom is the key that an environment variable holds. It refuses what is
// empty and what no key has: white space, line ends, control characters. The
// error names the variable.
func KeyFrom(variable, value string) (Key, error) {
	if value == "" {
		return nil, domain.CodedErrorf(domain.Denied, domain.CodeAuth, "%s: is empty; set it to the key, or unset it", variable)
	}
	if err := checkKey(variable, value); err != nil {
		return nil, err
	}
	return FixedKey(value), nil
}

// checkKey refuses what cannot be sent as a header's value, or would not be
// what was meant.
func checkKey(where, key string) error {
	for _, r := range key {
		if r <= ' ' || r > '~' {
			return domain.Errorf(domain.Invalid, "%s: has characters that no key has; set it again without quotes or line ends", where)
		}
	}
	return nil
}
