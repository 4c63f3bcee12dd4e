package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

func TestConsistent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reported domain.Usage
		total    int64
		want     domain.Usage
	}{
		"parts":                   {domain.Usage{InputTokens: 9, OutputTokens: 7, CacheReadTokens: 4, ReasoningTokens: 5}, 16, domain.Usage{InputTokens: 9, OutputTokens: 7, CacheReadTokens: 4, ReasoningTokens: 5}},
		"beside, by the total":    {domain.Usage{InputTokens: 9, OutputTokens: 7, ReasoningTokens: 5}, 21, domain.Usage{InputTokens: 9, OutputTokens: 12, ReasoningTokens: 5}},
		"beside, by the whole":    {domain.Usage{InputTokens: 28, OutputTokens: 9, ReasoningTokens: 69}, 37, domain.Usage{InputTokens: 28, OutputTokens: 78, ReasoningTokens: 69}},
		"a cache beside":          {domain.Usage{InputTokens: 325, OutputTokens: 17, CacheReadTokens: 492}, 342, domain.Usage{InputTokens: 817, OutputTokens: 17, CacheReadTokens: 492}},
		"a cache that was filled": {domain.Usage{InputTokens: 3, CacheReadTokens: 2, CacheWriteTokens: 2}, 0, domain.Usage{InputTokens: 7, CacheReadTokens: 2, CacheWriteTokens: 2}},
		"all of it":               {domain.Usage{InputTokens: 4, OutputTokens: 5, CacheReadTokens: 4, ReasoningTokens: 5}, 9, domain.Usage{InputTokens: 4, OutputTokens: 5, CacheReadTokens: 4, ReasoningTokens: 5}},
		"nothing":                 {},
	} {
		require.Equal(t, test.want, wire.Consistent(test.reported, test.total), name)
	}
}
