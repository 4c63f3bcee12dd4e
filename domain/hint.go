package domain

import (
	"everstep/domain/enum"
	"slices"
)

// A Hint is what an MCP server may say of a tool of its own, in the words of its protocol (destructiveHint,
// openWorldHint). Nobody knows whether it is true, so rules that look at it only make calls wait or deny them.
type Hint string

const (
	// Destructive tools may change or remove what is there, not only add to it.
	Destructive Hint = "destructive"
	// OpenWorld tools reach beyond a closed set: the web, say, or people.
	OpenWorld Hint = "open_world"
)

// UnmarshalText accepts the known hints only.
func (h *Hint) UnmarshalText(text []byte) error {
	return enum.Decode(h, text, "hint", Destructive, OpenWorld)
}

// Warns reports whether a hint holds for the tool: it is a server's, which has not said that it does not. A tool of the
// worker's own has none.
func (t ToolSpec) Warns(h Hint) bool { return !t.Pin.IsZero() && !slices.Contains(t.Disclaims, h) }
