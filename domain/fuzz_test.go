package domain_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// fuzzState checks the strict law of the types that a saved state is made of:
// what decodes at all encodes, and decodes to an equal value.
func fuzzState[T any](f *testing.F, samples ...T) {
	f.Helper()
	require.NotEmpty(f, samples)
	for _, sample := range samples {
		f.Add([]byte(encoded(f, sample)))
	}
	for _, data := range wrongJSON {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := domain.Decode[T](data)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		first, err := json.Marshal(value)
		require.NoError(t, err)
		again, err := domain.Decode[T](first)
		require.NoError(t, err, "%s", first)
		require.Equal(t, value, again)
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}

// wrongJSON is wrong in the usual ways.
var wrongJSON = []string{`{}`, `null`, `[]`, `{"number":1}`, `{"schema_version":1}`, `{"a`, ``, `{"STATUS":"failed","status":"x"}`}

func FuzzAgentState(f *testing.F) { fuzzState(f, slices.Collect(maps.Values(states()))...) }

// FuzzWire holds the other types, whose raw JSON and time zones stay as they came, to this law:
// once written they are written the same ever after. A value that lacks an enum cannot be read again, and says so.
func FuzzWire(f *testing.F) {
	types := map[string]wireCase{}
	for _, c := range wireCases(f) {
		types[c.name] = c
		for _, data := range append([]string{encoded(f, c.value)}, wrongJSON...) {
			f.Add(c.name, []byte(data))
		}
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		of, known := types[name]
		if !known {
			return
		}
		value, err := of.decode(data)
		if err != nil {
			return
		}
		first := encoded(t, value)
		again, err := of.decode([]byte(first))
		if err != nil && strings.Contains(err.Error(), `"" is none of`) {
			return
		}
		require.NoError(t, err, first)
		last, err := of.decode([]byte(encoded(t, again)))
		require.NoError(t, err)
		require.Equal(t, again, last)
	})
}
