package progress

import (
	"maps"
	"slices"

	"everstep/domain"
)

// A Given says what an execution began with beside its prompt and trusted values.
type Given struct {
	// Messages counts what was said before the prompt.
	Messages int
	// Metadata are the names of notes, sorted.
	Metadata []string
}

func givenOf(g *domain.Given) *Given {
	if g == nil {
		return &Given{}
	}
	return &Given{Messages: len(g.Messages), Metadata: slices.Sorted(maps.Keys(g.Metadata))}
}
