package output

import (
	"slices"
	"strconv"
	"strings"
)

// A place is a step on the way from a value's root to a part of it. The nil
// place is the root. Keys are not copied, so that a long one costs nothing.
type place struct {
	above *place
	step  string
}

func (p *place) key(key string) *place { return &place{p, key} }

func (p *place) item(i int) *place { return &place{p, strconv.Itoa(i)} }

// String returns the JSON pointer, shortened for people and models to read.
func (p *place) String() string {
	if p == nil {
		return "the root"
	}
	var steps []string
	for ; p != nil; p = p.above {
		steps = append(steps, escape(shown(p.step)))
	}
	slices.Reverse(steps)
	return shown("/" + strings.Join(steps, "/"))
}

// pointer returns the whole JSON pointer.
func (p *place) pointer() string {
	if p == nil {
		return ""
	}
	return p.above.pointer() + "/" + escape(p.step)
}

// escape writes a key as a part of a JSON pointer.
func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
