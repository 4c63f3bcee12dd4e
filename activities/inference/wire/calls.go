package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"everstep/domain"
)

// NoIndex is the index of a piece that has none.
const NoIndex = -1

// A Piece is a part of a tool call as it arrives. What it does not have is
// empty, and NoIndex.
type Piece struct {
	Index     int
	ID, Name  string
	Arguments string
}

// Calls puts tool calls together from their pieces. A piece belongs to the
// call with its index; where servers use one index for several calls, or none,
// the id tells, and where there is none either, the place. Arguments are never
// changed: what is not JSON stays as it came. The zero value is empty.
type Calls struct {
	list []*pendingCall
	// held is about how many bytes they take.
	held int
}

type pendingCall struct {
	index     int
	id        string
	name      strings.Builder
	arguments strings.Builder
}

// Add takes a piece, and returns the tool's name where a call begins.
func (c *Calls) Add(piece Piece) string {
	call := c.find(piece)
	begins := call == nil
	if begins {
		call = &pendingCall{index: piece.Index}
		c.list = append(c.list, call)
		c.held += perPart
	}
	if call.id == "" {
		call.id = piece.ID
		c.held += len(piece.ID)
	}
	// Some servers send the name with each piece.
	if piece.Name != call.name.String() {
		call.name.WriteString(piece.Name)
		c.held += len(piece.Name)
	}
	call.arguments.WriteString(piece.Arguments)
	c.held += len(piece.Arguments)
	if begins {
		return call.name.String()
	}
	return ""
}

// find returns the call that a piece goes on with, nil where it begins one.
func (c *Calls) find(piece Piece) *pendingCall {
	var found *pendingCall
	for _, call := range slices.Backward(c.list) {
		if c.same(call, piece) {
			found = call
			break
		}
	}
	// Whether the arguments are whole is asked last: it goes over all of them.
	if found == nil || piece.Name != "" && (piece.ID == "" || piece.Index < 0) && found.finished() {
		return nil
	}
	return found
}

// same reports whether a piece may belong to a call.
func (c *Calls) same(call *pendingCall, piece Piece) bool {
	if piece.Index >= 0 {
		return call.index == piece.Index && (piece.ID == "" || call.id == "" || call.id == piece.ID)
	}
	if piece.ID != "" {
		return call.id == piece.ID
	}
	return call == c.list[len(c.list)-1]
}

// finished reports whether the arguments are whole, so that what names a tool
// again begins another call.
func (p *pendingCall) finished() bool {
	arguments := strings.TrimSpace(p.arguments.String())
	// Asked with each piece of some servers: most are told by their borders.
	return p.name.Len() > 0 && strings.HasPrefix(arguments, "{") && strings.HasSuffix(arguments, "}") && json.Valid([]byte(arguments))
}

// Done returns the calls in their order: by index where each has its own, else
// as they came.
func (c *Calls) Done() []domain.ToolCall {
	list := slices.Clone(c.list)
	seen := make(map[int]bool, len(list))
	for _, call := range list {
		if call.index < 0 || seen[call.index] {
			seen = nil
			break
		}
		seen[call.index] = true
	}
	if seen != nil {
		slices.SortStableFunc(list, func(a, b *pendingCall) int { return a.index - b.index })
	}
	out := make([]domain.ToolCall, 0, len(list))
	for _, call := range list {
		out = append(out, domain.ToolCall{ID: call.id, Name: call.name.String(), Arguments: call.arguments.String()})
	}
	return out
}

// Cut reports whether the token limit cut the last call, though the server may
// say otherwise: the output is as long as it may be, and the arguments are not
// JSON.
func Cut(calls []domain.ToolCall, output, bound int64) bool {
	return len(calls) > 0 && bound > 0 && output >= bound && !json.Valid([]byte(calls[len(calls)-1].Arguments))
}
