package domain_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestBeginnings name what they are looked for among, and one thing alone.
func TestBeginnings(t *testing.T) {
	t.Parallel()
	ids := []string{"3f9e1b2c (pay)", "3f9e7777 (pay)", "40000000 (ship)"}
	for typed, want := range map[string]string{
		"4000": "2", "3F9E1": "0", "3f9e7777": "1",
		"": `call: 3 may be meant; name one: 3f9e1b2c (pay)`, "400": `call: "400" is short`,
		"5000": `call: "5000" is none of those that wait: 3f9e1b2c (pay), 3f9e7777 (pay), 40000000 (ship)`,
		"3f9e": `call: "3f9e" may be any of 2; give more of its id: 3f9e1b2c (pay)`,
	} {
		at, err := domain.Choose("call", typed, "none waits", "those that wait", ids, ids)
		if err != nil {
			require.ErrorContains(t, err, want, typed)
			continue
		}
		require.Equal(t, want, strconv.Itoa(at), typed)
	}
	_, err := domain.Choose("call", "5000", "none waits", "those that wait", nil, nil)
	require.ErrorContains(t, err, "call: none waits")
	many := strings.Split(strings.Repeat("5000 ", 100), " ")[:100]
	_, err = domain.Choose("call", "5000", "none waits", "those that wait", many, many)
	require.ErrorContains(t, err, "may be any of 100")
	require.Less(t, len(err.Error()), 200, "it names a few")
}
