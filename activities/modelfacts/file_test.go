package modelfacts_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/modelfacts"
	"everstep/domain"
)

func TestFileReadsEverything(t *testing.T) {
	t.Parallel()
	table := with(t, modelfacts.Table{}, `
# dollars for a million tokens
models:
  mine/big:
    input: 1.25
    output: "10"
    cache_read: 0.125
    cache_write: 1.5625
    long: {above_tokens: 200_000, input: 2.5, output: 15, cache_read: .25, cache_write: 3.125}
    context_window: 1_000_000
    max_output_tokens: 64000
    tools: true
    images: false
    json_schema: true
  mine/exact: {input: 0.000123456, output: 1e-2}
  mine/base: &base {input: 1, output: 2}
  mine/same: *base
  mine/open: {input: 1, output: 2, max_output_tokens: 5}
  mine/edges: {input: 10000, output: 0.0001, cache_read: 1.00000000000000000000000000000000000000, context_window: 100, max_output_tokens: 100}
`)
	facts, ok := table.Find("mine", "big", false)
	require.True(t, ok)
	nano := func(n int64) *int64 { return &n }
	require.Equal(t, modelfacts.Facts{
		Price: &domain.Price{
			Input: 1_250_000_000, Output: 10_000_000_000, CacheRead: nano(125_000_000), CacheWrite: nano(1_562_500_000),
			Long: &domain.LongPrice{Above: 200_000, Price: domain.Price{
				Input: 2_500_000_000, Output: 15_000_000_000, CacheRead: nano(250_000_000), CacheWrite: nano(3_125_000_000),
			}},
		},
		ContextWindow: 1_000_000, MaxOutputTokens: 64_000,
		Tools: new(true), Images: new(false), JSONSchema: new(true), Source: "prices.yaml",
	}, facts)
	exact, _ := table.Find("mine", "exact", false)
	require.Equal(t, &domain.Price{Input: 123_456, Output: 10_000_000}, exact.Price)
	edges, _ := table.Find("mine", "edges", false)
	require.Equal(t, &domain.Price{Input: 10_000_000_000_000, Output: 100_000, CacheRead: nano(1_000_000_000)}, edges.Price)
	require.EqualValues(t, 100, edges.MaxOutputTokens)
	same, _ := table.Find("mine", "same", false)
	require.Equal(t, &domain.Price{Input: 1_000_000_000, Output: 2_000_000_000}, same.Price)
}

// TestFileMistakes has one mistake a line; each is found, with its line.
func TestFileMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, entry, says string }{
		{"no input", `{output: 2}`, "models.p/m.input: is missing; give dollars for a million tokens, 0 for a free model"},
		{"no output", `{input: 1}`, "models.p/m.output: is missing"},
		{"neither", `{}`, "models.p/m.input: is missing"},
		{"a number without end", `{input: 1.` + strings.Repeat("0", 39) + `, output: 2}`, "give dollars for a million tokens as a number"},
		{"too exact", `{input: 0.1234567891, output: 2}`, `models.p/m.input: is "0.1234567891", which has more than 9 decimals; round it to a thousand-millionth of a dollar`},
		{"cache read", `{input: 1, output: 2, cache_read: -1}`, `models.p/m.cache_read: is "-1"`},
		{"another table's key", `{input_cost_per_token: 1, input: 1, output: 2}`, "models.p/m.input_cost_per_token: there is no such key; did you mean input?"},
		{"an unknown key", `{colour: red, input: 1, output: 2}`, "models.p/m.colour: there is no such key; there are input, output, cache_read, cache_write, long, context_window, max_output_tokens, tools, images, json_schema"},
		{"an answer longer than the window", `{input: 1, output: 2, context_window: 100, max_output_tokens: 200}`, "models.p/m.max_output_tokens: is 200, more than context_window, which is 100"},
		{"long without a bound", `{input: 1, output: 2, long: {input: 2, output: 3}}`, "models.p/m.long.above_tokens: is missing"},
		{"long without a price", `{input: 1, output: 2, long: {above_tokens: 200000, input: 2}}`, "models.p/m.long.output: is missing"},
		{"long negative", `{input: 1, output: 2, long: {above_tokens: 200000, input: -2, output: 3}}`, `models.p/m.long.input: is "-2"`},
		{"a key of long misspelt", `{input: 1, output: 2, long: {above: 3, above_tokens: 200000, input: 2, output: 3}}`, "models.p/m.long.above: there is no such key; did you mean above_tokens?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			requireMistake(t, test.entry, test.says)
		})
	}
	for says, prices := range map[string][]string{
		"; give dollars for a million tokens as a number, as in 1.25":          {`cheap`, `$1.25`, `"1,25"`, `.nan`, `.inf`, `1/3`, `1-2`, `0x10`, `true`},
		"; a price is 0, or from 0.0001 to 10000 dollars for a million tokens": {`-0.5`, `1250000000`, `10000.5`, `1e300`, `0.00000125`},
	} {
		for _, price := range prices {
			requireMistake(t, "{input: "+price+", output: 2}", `models.p/m.input: is "`+strings.Trim(price, `"`)+`"`+says)
		}
	}
}

// requireMistake has an entry refused by its line and these words.
func requireMistake(t *testing.T, entry, says string) {
	t.Helper()
	_, err := modelfacts.Table{}.WithData("prices.yaml", []byte("models:\n  ok/m: {input: 1, output: 2}\n  p/m: "+entry+"\n"))
	require.ErrorContains(t, err, "prices.yaml:3:")
	require.ErrorContains(t, err, says)
	require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
	require.NotContains(t, err.Error(), "ok/m")
}

func TestFilesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, says string }{
		{"empty", "", "prices.yaml: is empty; it needs models:"},
		{"no models", "{}", "prices.yaml:1:1: models: is missing"},
		{"a name without a provider", "models:\n  gpt-5: {input: 1, output: 2}\n", "prices.yaml:2:3: models.gpt-5: is not PROVIDER/MODEL"},
		{"a provider without a name", "models:\n  openai/: {input: 1, output: 2}\n", "prices.yaml:2:3: models.openai/: is not PROVIDER/MODEL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := modelfacts.Table{}.WithData("prices.yaml", []byte(test.text))
			require.ErrorContains(t, err, test.says)
		})
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	t.Parallel()
	_, err := modelfacts.Table{}.WithData("p.yaml", []byte("models:\n  a/b: {input: x}\n  c: {}\n  d/e:\n    input: -1\n    output: 2\n    colour: 1\n"))
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 5)
	for i, want := range []string{"p.yaml:2:8: models.a/b.output: is missing", "p.yaml:2:16: models.a/b.input: ", "p.yaml:3:3: models.c: is not", `p.yaml:5:12: models.d/e.input: is "-1"`, "p.yaml:7:5: models.d/e.colour: "} {
		require.Contains(t, lines[i], want)
	}
	_, err = modelfacts.Table{}.WithData("p.yaml", []byte("models:\n"+strings.Repeat("  c: {}\n", 100)))
	require.NotContains(t, err.Error(), "more")
	many := "models:\n" + strings.Repeat("  c: {}\n", 500)
	_, err = modelfacts.Table{}.WithData("p.yaml", []byte(many))
	require.LessOrEqual(t, strings.Count(err.Error(), "\n"), 101)
	require.ErrorContains(t, err, "p.yaml: and 400 more")
}

func FuzzFile(f *testing.F) {
	f.Add("models:\n  p/m: {input: 1.25, output: 2, long: {above_tokens: 1, input: 2, output: 3}}\n")
	f.Add("models: &a\n  p/m: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := modelfacts.Table{}.WithData("p.yaml", []byte(text))
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		if facts, ok := table.Find("p", "m", false); ok {
			require.NoError(t, facts.Price.Check())
		}
	})
}
