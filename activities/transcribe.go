package activities

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"everstep/domain"
)

const (
	// leastResult is left of a tool's result while there is anything else to cut.
	leastResult = 256
	leastPiece  = 64
)

// A piece is a part of a conversation as it is written down.
type piece struct {
	label, text string
	// result says that a tool said it, which is cut first.
	result bool
}

// transcribe writes a conversation down in at most so many bytes; zero is no bound.
// The longest texts are cut in the middle, results of tools before anything else.
func transcribe(messages []domain.Message, room int) string {
	var pieces []piece
	for _, m := range messages {
		pieces = appendPieces(pieces, m)
	}
	if room > 0 {
		fitPieces(pieces, room)
	}
	parts := make([]string, len(pieces))
	for i, p := range pieces {
		if parts[i] = p.label; p.text != "" {
			parts[i] += "\n" + p.text
		}
	}
	text := strings.Join(parts, "\n\n")
	if room > 0 {
		text = domain.WithoutMiddle(text, room)
	}
	return text
}

func appendPieces(pieces []piece, m domain.Message) []piece {
	if r := m.ToolResult; m.Role == domain.RoleTool && r != nil {
		label := "[result of " + r.Name + "]"
		if r.IsError {
			label = "[result of " + r.Name + ": it failed]"
		}
		return append(pieces, piece{label, r.Content, true})
	}
	label := "[" + string(m.Role) + "]"
	if _, isSummary := m.Metadata[keySummary]; isSummary {
		label = "[earlier summary]"
	}
	if text := contentOf(m); text != "" {
		pieces = append(pieces, piece{label: label, text: text})
	}
	for _, call := range m.ToolCalls {
		pieces = append(pieces, piece{label: "[" + string(m.Role) + " calls " + call.Name + "]", text: call.Arguments})
	}
	return pieces
}

// contentOf is what a message says, without the reasoning. What is no text is named.
func contentOf(m domain.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		switch p.Type {
		case domain.PartText:
			b.WriteString(p.Text)
		case domain.PartReasoning:
		case domain.PartImage, domain.PartFile, domain.PartAudio:
			words := []string{string(p.Type), p.MediaType, domain.Shorten(cmp.Or(p.Filename, p.URL), 200)}
			words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
			b.WriteString("[" + strings.Join(words, " ") + "]")
		}
	}
	return b.String()
}

func fitPieces(pieces []piece, room int) {
	var results, others []int
	for _, p := range pieces {
		room -= len(p.label) + 3
		if p.result {
			results = append(results, len(p.text))
		} else {
			others = append(others, len(p.text))
		}
	}
	longest := max(level(results, room-total(others, math.MaxInt)), leastResult)
	for i, n := range results {
		results[i] = min(n, longest)
	}
	all := max(level(append(results, others...), room), leastPiece)
	for i, p := range pieces {
		most := all
		if p.result {
			most = min(longest, all)
		}
		pieces[i].text = domain.WithoutMiddle(p.text, most)
	}
}

// level is the length to which the longest have to be cut for all to fit.
func level(lengths []int, room int) int {
	return sort.Search(slices.Max(append(lengths, 0)), func(n int) bool { return total(lengths, n+1) > room })
}

// total is what texts take of which no more than so many bytes are left.
func total(lengths []int, most int) (n int) {
	for _, length := range lengths {
		n += min(length, most)
	}
	return n
}
