package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
)

// TestUnknownCosts are null for scripts and unknown for people, and no model
// that costs something looks as if it were free.
func TestUnknownCosts(t *testing.T) {
	t.Parallel()
	used := domain.UsageView{InputTokens: 10, TotalTokens: 10}
	for name, c := range map[string]struct {
		view domain.StatusView
		json string
		text string
	}{
		"no price":             {domain.StatusView{Usage: used, CostUSD: "0", Source: domain.FromWorkflow}, `"cost_usd":null`, "cost      unknown\n"},
		"no price, at the end": {domain.StatusView{Usage: used, CostUSD: "0", Source: domain.FromMemo}, `"cost_usd":null`, "cost      unknown\n"},
		"free":                 {domain.StatusView{Usage: used, CostUSD: "0", Priced: true, Source: domain.FromWorkflow}, `"cost_usd":"0"`, ""},
		"priced":               {domain.StatusView{Usage: used, CostUSD: "0.5", Priced: true, Source: domain.FromWorkflow}, `"cost_usd":"0.5"`, "cost      $0.5\n"},
		"of an earlier worker": {domain.StatusView{Usage: used, CostUSD: "0.5", Source: domain.FromMemo}, `"cost_usd":"0.5"`, "cost      $0.5\n"},
		"nothing used yet":     {domain.StatusView{CostUSD: "0", Source: domain.FromWorkflow}, `"cost_usd":"0"`, ""},
		"nobody tells":         {domain.StatusView{CostUSD: "0", Source: domain.FromHeartbeat}, `"cost_usd":null`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line, err := encode(statusOf(c.view))
			require.NoError(t, err)
			require.Contains(t, string(line), c.json)
			text := statusText(noTheme(), "notes", c.view, testNow)
			if c.text == "" {
				require.NotContains(t, text, "cost ")
			}
			require.Contains(t, text, c.text)
		})
	}
	prior := statusOf(domain.StatusView{Prior: domain.Spent{Steps: 1, Tokens: 9}})
	require.Nil(t, prior.Prior.CostUSD)
}

func TestUnknownCostsOfResultsAndSteps(t *testing.T) {
	t.Parallel()
	result := func(o domain.Outcome) string {
		line, err := encode(resultOf(client.Result{Outcome: o}))
		require.NoError(t, err)
		return string(line)
	}
	usage := domain.Usage{InputTokens: 10}
	require.Contains(t, result(domain.Outcome{Usage: usage}), `"cost_usd":null`)
	require.Contains(t, result(domain.Outcome{Usage: usage, Priced: true}), `"cost_usd":"0"`)
	require.Contains(t, result(domain.Outcome{Usage: usage, CostNanoUSD: 5_000_000}), `"cost_usd":"0.005"`)
	require.Contains(t, result(domain.Outcome{}), `"cost_usd":"0"`)
	require.Contains(t, result(domain.Outcome{Code: domain.CodeTerminated}), `"cost_usd":null`, "the server counts nothing")

	p := &program{out: plainOutput(&locked{})}
	step := domain.StepExecution{Step: domain.AgentStep{Usage: usage}}
	for _, c := range []struct {
		cost   int64
		priced bool
		json   string
		text   string
	}{
		{0, false, `"cost_usd":null}`, "10 tokens  cost unknown"}, {0, true, `"cost_usd":"0"}`, "10 tokens"},
		{2_000_000, true, `"cost_usd":"0.002"}`, "10 tokens  $0.002"},
	} {
		step.Step.CostNanoUSD = c.cost
		line, err := encode(stepJSON{step, c.priced})
		require.NoError(t, err)
		require.Contains(t, string(line), c.json)
		require.Equal(t, "  0  final_response      0 ms  "+c.text, p.stepLine(step, c.priced))
	}
}
