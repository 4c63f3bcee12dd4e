package wire

import (
	"cmp"
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

type draftCall struct {
	index     int
	id        string
	name      strings.Builder
	arguments strings.Builder
}

// Call adds a piece of a tool call. It belongs to the call with its index; where
// servers use one index for several calls, or none, the id tells, and where there
// is none either, the place. Arguments are never changed: what is not JSON stays
// as it came.
func (d *Draft) Call(piece Piece) {
	call := d.callOf(piece)
	begins := call == nil
	if begins {
		call = &draftCall{index: piece.Index}
		d.calls = append(d.calls, call)
		d.held += perPart
	}
	if call.id == "" {
		call.id = piece.ID
		d.held += len(piece.ID)
	}
	// Some servers send the name with each piece.
	if piece.Name != call.name.String() {
		call.name.WriteString(piece.Name)
		d.held += len(piece.Name)
	}
	call.arguments.WriteString(piece.Arguments)
	d.held += len(piece.Arguments)
	if begins && piece.Name != "" {
		if d.news.Tool != "" {
			d.Flush() // one delta tells of one call
		}
		d.news.Tool = piece.Name
	}
}

// callOf returns the call that a piece goes on with, nil where it begins one.
func (d *Draft) callOf(piece Piece) *draftCall {
	for last, call := range slices.Backward(d.calls) {
		same := last == len(d.calls)-1
		switch {
		case piece.Index >= 0:
			same = call.index == piece.Index && (piece.ID == "" || call.id == "" || call.id == piece.ID)
		case piece.ID != "":
			same = call.id == piece.ID
		}
		if !same {
			continue
		}
		// Whether the arguments are whole is asked last: it goes over all of them.
		if piece.Name != "" && (piece.ID == "" || piece.Index < 0) && call.finished() {
			return nil
		}
		return call
	}
	return nil
}

// finished reports whether the arguments are whole, so that what names a tool
// again begins another call.
func (c *draftCall) finished() bool {
	arguments := strings.TrimSpace(c.arguments.String())
	// Asked with each piece of some servers: most are told by their borders.
	return c.name.Len() > 0 && strings.HasPrefix(arguments, "{") && strings.HasSuffix(arguments, "}") && json.Valid([]byte(arguments))
}

// Calls are the tool calls: by index where each has its own, else as they came.
func (d *Draft) Calls() []domain.ToolCall {
	list := slices.SortedStableFunc(slices.Values(d.calls), func(a, b *draftCall) int { return cmp.Compare(a.index, b.index) })
	for i, call := range list {
		if call.index < 0 || i > 0 && call.index == list[i-1].index {
			list = d.calls
			break
		}
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
func (d *Draft) Cut(bound int64) bool {
	if !d.Called() || bound <= 0 || d.Usage.OutputTokens < bound {
		return false
	}
	calls := d.Calls()
	return !json.Valid([]byte(calls[len(calls)-1].Arguments))
}
