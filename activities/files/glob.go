package files

import (
	"path"
	"strings"

	"everstep/domain"
)

// A glob chooses paths. One without a slash is about the last part of a path,
// in whatever folder; in one with slashes ** stands for any number of folders.
// The zero value takes every path.
type glob struct{ parts []string }

const maxGlob = 1000

func parseGlob(pattern string) (glob, error) {
	if pattern == "" {
		return glob{}, nil
	}
	if len(pattern) > maxGlob {
		return glob{}, domain.Errorf(domain.Invalid, "glob: it has %d bytes; %d are allowed", len(pattern), maxGlob)
	}
	if strings.ContainsAny(pattern, "{}") {
		return glob{}, domain.Errorf(domain.Invalid, "glob: %q: braces are not known here; ask once for each alternative", pattern)
	}
	parts := strings.Split(strings.Trim(pattern, "/"), "/")
	if !strings.Contains(pattern, "/") {
		parts = []string{"**", pattern}
	}
	for _, part := range parts {
		if _, err := path.Match(part, ""); err != nil {
			return glob{}, domain.Errorf(domain.Invalid, "glob: %q is not valid: close every [ and put something after every \\", pattern)
		}
	}
	return glob{parts: parts}, nil
}

// match reports whether a path, relative to where the search began, is chosen.
func (g glob) match(name string) bool {
	if len(g.parts) == 0 {
		return true
	}
	names := strings.Split(name, "/")
	// reached[j] says that the parts so far can stand for the first j names.
	reached := make([]bool, len(names)+1)
	reached[0] = true
	for _, part := range g.parts {
		next := make([]bool, len(names)+1)
		for j := range reached {
			switch {
			case part == "**":
				next[j] = reached[j] || j > 0 && next[j-1]
			case j > 0 && reached[j-1]:
				next[j], _ = path.Match(part, names[j-1])
			}
		}
		reached = next
	}
	return reached[len(names)]
}
