package domain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func TestToolLimit(t *testing.T) {
	t.Parallel()
	for limit, words := range map[domain.ToolLimit]string{
		{}:                                    "",
		{Calls: 5, Per: time.Minute}:          "5 calls a minute",
		{Calls: 1, Per: time.Hour, AtOnce: 1}: "1 call an hour, 1 at once on each worker",
		{Calls: 9, Per: time.Second}:          "9 calls a second",
		{Calls: 3, Per: 10 * time.Second}:     "3 calls each 10s",
		{AtOnce: 2}:                           "2 at once on each worker",
		{Calls: 1, Per: 24 * time.Hour, AtOnce: 7}: "1 call each 24h0m0s, 7 at once on each worker",
	} {
		require.NoError(t, limit.Check())
		require.Equal(t, words, limit.String())
	}
	for limit, wrong := range map[domain.ToolLimit]string{
		{Calls: 5}:                      "limit: a rate is so many calls in so long; give both, or neither",
		{Per: time.Second}:              "limit: a rate is so many calls in so long; give both, or neither",
		{Calls: -1, Per: time.Second}:   "limit: a number of it is negative; zero is none",
		{AtOnce: -1}:                    "limit: a number of it is negative; zero is none",
		{Calls: 1, Per: 25 * time.Hour}: "limit: 25h0m0s is too long; a rate is over 24h0m0s at the most",
		{AtOnce: 10_001}:                "limit: 10001 at once; at most 10000 are",
	} {
		require.EqualError(t, limit.Check(), wrong)
	}
	require.InDelta(t, 0.5, domain.ToolLimit{Calls: 30, Per: time.Minute}.PerSecond(), 1e-9)
	require.Zero(t, domain.ToolLimit{AtOnce: 3}.PerSecond())
}
