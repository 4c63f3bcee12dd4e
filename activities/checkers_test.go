package activities

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestCheckersAreKept while they are used, and never too many.
func TestCheckersAreKept(t *testing.T) {
	t.Parallel()
	var c checkers
	named := func(n int) domain.ResponseFormat {
		return domain.ResponseFormat{Type: domain.FormatSchema, Name: strings.Repeat("n", n+1), Schema: []byte(`{"type":"object"}`)}
	}
	for n := range 2 * maxCheckers {
		first, err := c.of(named(n))
		require.NoError(t, err)
		second, err := c.of(named(n))
		require.NoError(t, err)
		require.Same(t, first, second)
		require.Len(t, c.kept, n%maxCheckers+1)
	}
}
