package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

func TestDollars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "0.005": 5_000_000, "$2": 2_000_000_000, "1.50": 1_500_000_000, "0.000000001": 1, "1.1000000000000": 1_100_000_000,
		"9223372036.854775807": math.MaxInt64,
	} {
		got, err := readDollars(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "$", ".5", "5.", "1,5", "1e3", "-1", "+1", "0x1", "1_000", "NaN", "Inf", "1 2", "$$1", "0.0000000001", "9223372036.854775808", "1.2.3",
	} {
		_, err := readDollars(text)
		require.Error(t, err, text)
	}
}

// TestDollarsAreExact reads back what is written.
func TestDollarsAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nano := rapid.Int64Range(0, math.MaxInt64).Draw(t, "nano")
		got, err := readDollars(domain.USD(nano))
		require.NoError(t, err)
		require.Equal(t, nano, got)
	})
}

func TestPriceTag(t *testing.T) {
	t.Parallel()
	var price *domain.Price
	require.NoError(t, priceTag{&price}.Set("input=1.25, output=10,cache_read=0.125"))
	require.Equal(t, &domain.Price{Input: 1_250_000_000, Output: 10_000_000_000, CacheRead: new(int64(125_000_000))}, price)
	require.NoError(t, priceTag{&price}.Set("input=0,output=0"), "what costs nothing has a price too")
	require.Equal(t, &domain.Price{}, price)
}

func TestSchemaFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	format, err := readFormat(file("city.schema.json", "{\n \"type\": \"object\"\n}"), domain.OutputTool)
	require.NoError(t, err)
	require.Equal(t, domain.ResponseFormat{
		Type: domain.FormatSchema, Name: "city", Schema: []byte(`{"type":"object"}`), Mode: domain.OutputTool,
	}, format)
	format, err = readFormat(file("x.json", `{"title": "A city, big", "type": "object"}`), "")
	require.NoError(t, err)
	require.Equal(t, "A_city__big", format.Name)
	for name, text := range map[string]string{
		"empty": "", "array": "[]", "no JSON": "{", "remote": `{"$ref": "http://127.0.0.1:1/x"}`, "type": `{"type": "objekt"}`, "twice": `{"type": "object", "type": "array"}`,
	} {
		path := file("bad.json", text)
		_, err := readFormat(path, "")
		require.ErrorContains(t, err, "--output: "+path+": ", name)
		require.Equal(t, exitUsage, exitCode(err), name)
		require.NotContains(t, err.Error(), "\n", name)
	}
	_, err = readFormat("/dev/zero", "")
	require.ErrorContains(t, err, "more than")
}

// TestTotals takes a limit away and sets it; the last word counts.
func TestTotals(t *testing.T) {
	t.Parallel()
	var got totals
	set := pflag.NewFlagSet("extend", pflag.ContinueOnError)
	got.register(set, func() time.Time { return testNow })
	require.NoError(t, set.Parse([]string{
		"--max-steps", "none", "--max-steps", "7", "--max-tokens", "5", "--max-tokens", "none", "--max-cost", "$0.50", "--deadline", "90s",
	}))
	require.Equal(t, []domain.Limit{domain.LimitTokens}, got.options.Lift)
	require.Equal(t, domain.ExecutionBudget{
		MaxSteps: new(int64(7)), MaxCostNanoUSD: new(int64(500_000_000)), Deadline: new(testNow.Add(90 * time.Second)),
	}, got.options.Budget)
}
