package contract

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestADefinitionThatNoRunHandsOn is refused with its longest part.
func TestADefinitionThatNoRunHandsOn(t *testing.T) {
	t.Parallel()
	d := domain.Definition{SystemPrompt: strings.Repeat("s", 200_000)}
	require.NoError(t, CheckCarried(d))
	d.Format = domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(`"` + strings.Repeat("x", 200_000) + `"`)}
	d.SystemPrompt += "s"
	err := CheckCarried(d)
	require.ErrorContains(t, err, "response_format: takes 2000")
	require.ErrorContains(t, err, "shorten it, or have the agent read what is long with a tool")
	require.Equal(t, domain.TooLarge, domain.AsError(err).Kind)
}
