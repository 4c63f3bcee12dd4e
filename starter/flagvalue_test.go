package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	answers "everstep/activities/output"
	"everstep/domain"
	"everstep/starter/client"
)

func TestDollars(t *testing.T) {
	t.Parallel()
	got, err := readDollars(" $0.005 ")
	require.NoError(t, err)
	require.Equal(t, int64(5_000_000), got)
	_, err = readDollars("1,5")
	require.ErrorContains(t, err, "has a comma")
}

func TestPriceTag(t *testing.T) {
	t.Parallel()
	var price *domain.Price
	require.NoError(t, priceFlag(&price).Set("input=1.25, output=10,cache_read=0.125"))
	require.Equal(t, &domain.Price{Input: 1_250_000_000, Output: 10_000_000_000, CacheRead: new(int64(125_000_000))}, price)
	require.NoError(t, priceFlag(&price).Set("input=0,output=0"), "what costs nothing has a price too")
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
		err := (&outputFlags{schema: path}).apply(new(domain.Definition))
		require.ErrorContains(t, err, "--output: "+path+": ", name)
		require.Equal(t, exitUsage, exitCode(err), name)
		require.NotContains(t, err.Error(), "\n", name)
	}
	_, err = readFormat(file("long.json", strings.Repeat(" ", answers.MaxSchema+1)), "")
	require.ErrorContains(t, err, "more than")
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = readFormat(pipe, "")
	require.ErrorContains(t, err, "is no plain file", "nobody may be at its other end")
}

// TestTotals takes a limit away and sets it; the last word counts.
func TestTotals(t *testing.T) {
	t.Parallel()
	var got client.ExtendOptions
	set := pflag.NewFlagSet("extend", pflag.ContinueOnError)
	(&program{now: func() time.Time { return today }}).totalFlags(set, &got)
	require.NoError(t, set.Parse([]string{
		"--max-steps", "none", "--max-steps", "7", "--max-tokens", "5", "--max-tokens", "none", "--max-cost", "$0.50", "--deadline", "90s",
	}))
	require.Equal(t, []domain.Limit{domain.LimitTokens}, got.Lift)
	require.Equal(t, domain.ExecutionBudget{
		MaxSteps: new(int64(7)), MaxCostNanoUSD: new(int64(500_000_000)), Deadline: new(today.Add(90 * time.Second)),
	}, got.Budget)
}

// TestStepsAloneCanBeNone where an execution begins: the other limits have no default that could be taken away.
func TestStepsAloneCanBeNone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want domain.ExecutionBudget
	}{
		"nothing":      {nil, domain.ExecutionBudget{}},
		"none":         {[]string{"--max-steps", "none"}, domain.Unlimited()},
		"then a count": {[]string{"--max-steps", "none", "--max-steps", "7"}, domain.ExecutionBudget{MaxSteps: new(int64(7))}},
		"then none":    {[]string{"--max-steps", "7", "--max-steps", "none"}, domain.Unlimited()},
	} {
		var got domain.ExecutionBudget
		set := pflag.NewFlagSet("run", pflag.ContinueOnError)
		new(program).limitFlags(set, &got)
		require.NoError(t, set.Parse(test.args), name)
		require.Equal(t, test.want, got, name)
	}
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	new(program).limitFlags(set, new(domain.ExecutionBudget))
	require.ErrorContains(t, set.Parse([]string{"--max-tokens", "none"}), "is no whole number")
}
