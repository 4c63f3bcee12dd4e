package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

type Embedded struct {
	Shown  int `json:"shown"`
	hidden int
}

// TestDifferentFieldOfAnEmbeddedStruct: fields after one whose exported fields are the same are looked at too.
func TestDifferentFieldOfAnEmbeddedStruct(t *testing.T) {
	t.Parallel()
	type outer struct {
		Embedded
		After int `json:"after"`
	}
	require.Equal(t, "after", domain.DifferentField(outer{Embedded{1, 2}, 3}, outer{Embedded{1, 9}, 4}))
	require.Equal(t, "shown", domain.DifferentField(outer{Embedded{1, 2}, 3}, outer{Embedded{5, 2}, 4}))
	require.Empty(t, domain.DifferentField(outer{Embedded{1, 2}, 3}, outer{Embedded{1, 9}, 3}))
}
