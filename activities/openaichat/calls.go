package openaichat

import (
	"encoding/json"
	"slices"
	"strings"

	"everstep/domain"
)

// calls puts tool calls together from their pieces. A piece belongs to the
// call with its index; where servers use one index for several calls, or none,
// the id tells, and where there is none either, the place.
type calls struct {
	list []*pendingCall
}

type pendingCall struct {
	index     int // -1: none
	id, name  string
	arguments strings.Builder
}

// add takes a piece, and returns the tool's name where a call begins.
func (c *calls) add(piece toolCall) string {
	call := c.find(piece)
	begins := call == nil
	if begins {
		call = &pendingCall{index: -1}
		if piece.Index != nil {
			call.index = *piece.Index
		}
		c.list = append(c.list, call)
	}
	if call.id == "" {
		call.id = string(piece.ID)
	}
	// Some servers send the name with each piece.
	if name := string(piece.Function.Name); name != call.name {
		call.name += name
	}
	call.arguments.WriteString(string(piece.Function.Arguments))
	if begins {
		return call.name
	}
	return ""
}

// find returns the call that a piece goes on with, nil where it begins one.
func (c *calls) find(piece toolCall) *pendingCall {
	var found *pendingCall
	for _, call := range slices.Backward(c.list) {
		if found = call; c.same(call, piece) {
			break
		}
		found = nil
	}
	if found == nil || found.finished() && piece.Function.Name != "" && (piece.ID == "" || !indexed(piece)) {
		return nil
	}
	return found
}

// same reports whether a piece may belong to a call.
func (c *calls) same(call *pendingCall, piece toolCall) bool {
	if indexed(piece) {
		return call.index == *piece.Index && (piece.ID == "" || call.id == "" || call.id == string(piece.ID))
	}
	if piece.ID != "" {
		return call.id == string(piece.ID)
	}
	return call == c.list[len(c.list)-1]
}

func indexed(piece toolCall) bool { return piece.Index != nil && *piece.Index >= 0 }

// finished reports whether the arguments are whole, so that what names a tool
// again begins another call.
func (p *pendingCall) finished() bool {
	arguments := p.arguments.String()
	return p.name != "" && strings.HasPrefix(strings.TrimSpace(arguments), "{") && json.Valid([]byte(arguments))
}

// done returns the calls in their order: by index where each has its own, else
// as they came.
func (c *calls) done() []domain.ToolCall {
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
		out = append(out, domain.ToolCall{ID: call.id, Name: call.name, Arguments: call.arguments.String()})
	}
	return out
}
