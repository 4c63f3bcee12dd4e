package wire_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
)

// TestTextAndCount: what servers write otherwise is no failure.
func TestTextAndCount(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]struct {
		text  wire.Text
		count wire.Count
	}{
		`"a\n"`: {"a\n", 0}, `null`: {"", 0}, "12\t": {"12", 12}, `{"a":1}`: {`{"a":1}`, 0}, `-1`: {"-1", 0}, `1.9`: {"1.9", 1}, `0`: {"0", 0},
		`2199023254528`: {"2199023254528", math.MaxInt32 << 10}, `2199023254529`: {"2199023254529", 0}, `"7"`: {"7", 7}, `"NaN"`: {"NaN", 0},
	} {
		var text wire.Text
		var count wire.Count
		require.NoError(t, json.Unmarshal([]byte(data), &text))
		require.NoError(t, json.Unmarshal([]byte(data), &count))
		require.Equal(t, want.text, text)
		require.Equal(t, want.count, count, data)
	}
	var text wire.Text
	require.NoError(t, text.UnmarshalJSON(nil))
	require.Empty(t, text)
	require.Error(t, text.UnmarshalJSON([]byte(`"a`)))
}

func TestPresent(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", " null ", "{}", `""`, "[]", "false", "0", `{"a":{"b":[0.0,"",null,false]}}`, "{oops"} {
		require.False(t, wire.Present([]byte(data)), data)
	}
	for _, data := range []string{"true", `{"a":1}`, `[[{"a":" "}]]`, "-0.1", "[1e999]"} {
		require.True(t, wire.Present([]byte(data)), data)
	}
}
