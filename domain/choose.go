package domain

import (
	"slices"
	"strings"
)

const (
	// LeastBeginning is the shortest beginning of an id by which something of an agent is changed.
	LeastBeginning = 4
	// mostNamed bounds how many are named where none, or more than one, is meant.
	mostNamed = 8
)

// Choose is the place of the one id that begins as a person has typed. A refusal names the field, says what none and others are, and
// lists the names of those that may be meant.
func Choose(field, typed, none, others string, ids, names []string) (at int, _ error) {
	if typed != "" && len(typed) < LeastBeginning {
		return at, Invalidf("%s: %q is short for what is changed by it; give at least %d characters of the id", field, typed, LeastBeginning)
	}
	var meant []string
	for i, id := range ids {
		if typed != "" && strings.HasPrefix(id, strings.ToLower(typed)) {
			at, meant = i, append(meant, names[i])
		}
	}
	switch typed = Shorten(typed, 64); {
	case len(ids) == 0:
		return at, Deniedf("%s: %s", field, none)
	case typed == "":
		return at, Deniedf("%s: %d may be meant; name one: %s", field, len(ids), someOf(names))
	case len(meant) == 0:
		return at, Deniedf("%s: %q is none of %s: %s", field, typed, others, someOf(names))
	case len(meant) > 1:
		return at, Deniedf("%s: %q may be any of %d; give more of its id: %s", field, typed, len(meant), someOf(meant))
	}
	return at, nil
}

func someOf(names []string) string {
	if len(names) > mostNamed {
		names = append(slices.Clone(names[:mostNamed]), "and others")
	}
	return strings.Join(names, ", ")
}
