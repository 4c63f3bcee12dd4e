package modelfacts

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBuiltinMakesSense finds slips of the hand, such as a price ten times too
// low or two figures that changed places.
func TestBuiltinMakesSense(t *testing.T) {
	t.Parallel()
	var file builtinFile
	decoder := json.NewDecoder(bytes.NewReader(builtinJSON))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&file))
	require.Len(t, file.Vendors, 3)
	providers := map[string]int{}
	for n := range Builtin().builtin {
		providers[n.provider]++
	}
	require.Equal(t, providers["openai"], providers["openai-chat"])
	for _, provider := range []string{"openai", "anthropic", "gemini"} {
		require.GreaterOrEqual(t, providers[provider], 10, provider)
	}
	names := 0
	for _, vendor := range file.Vendors {
		_, err := time.Parse(time.DateOnly, vendor.Date)
		require.NoError(t, err, vendor.Vendor)
		require.NotEmpty(t, vendor.Sources, vendor.Vendor)
		for model, fact := range vendor.Models {
			p := fact.Price
			require.NotNil(t, p, model)
			require.NoError(t, p.Check(), model)
			names += len(vendor.Providers) * (1 + len(fact.Aliases))
			require.GreaterOrEqual(t, p.Input, int64(20_000_000), model)
			require.LessOrEqual(t, p.Output, int64(1_000*nanos), model)
			require.GreaterOrEqual(t, p.Output, 2*p.Input, model)
			require.LessOrEqual(t, p.Output, 10*p.Input, model)
			if p.CacheRead != nil {
				require.Less(t, *p.CacheRead, p.Input, model)
				require.GreaterOrEqual(t, *p.CacheRead, p.Input/40, model)
			}
			if p.CacheWrite != nil {
				require.Equal(t, p.Input*5/4, *p.CacheWrite, model)
			}
			if l := p.Long; l != nil {
				require.GreaterOrEqual(t, l.Above, int64(100_000), model)
				require.Greater(t, l.Input, p.Input, model)
				require.Greater(t, l.Output, p.Output, model)
				require.Equal(t, p.CacheRead == nil, l.CacheRead == nil, model)
				require.Equal(t, p.CacheWrite == nil, l.CacheWrite == nil, model)
			}
			require.Positive(t, fact.MaxOutputTokens, model)
			require.GreaterOrEqual(t, fact.ContextWindow, fact.MaxOutputTokens, model)
			require.NotNil(t, fact.Tools, model)
			require.NotNil(t, fact.Images, model)
			require.NotNil(t, fact.JSONSchema, model)
			_, dated := undated(model)
			require.True(t, !dated || model == "gpt-4o-2024-05-13", "%s: a snapshot is found by its base, unless its price is another", model)
		}
	}
	require.Len(t, Builtin().builtin, names, "no name stands there twice")
}
