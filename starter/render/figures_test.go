package render

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
)

// TestUnknownCosts are null for scripts and unknown for people, and no model
// that costs something looks as if it were free.
func TestUnknownCosts(t *testing.T) {
	t.Parallel()
	used := domain.Usage{InputTokens: 10}
	for name, c := range map[string]struct {
		outcome    contract.Outcome
		source     contract.StatusSource
		json, text string
	}{
		"no price":             {contract.Outcome{Usage: used}, contract.FromWorkflow, "null", "cost      unknown\n"},
		"no price, at the end": {contract.Outcome{Usage: used}, contract.FromHistory, "null", "cost      unknown\n"},
		"free":                 {contract.Outcome{Usage: used, Priced: true}, contract.FromWorkflow, "0", ""},
		"priced":               {contract.Outcome{Usage: used, CostNanoUSD: 500_000_000, Priced: true}, contract.FromWorkflow, "500000000", "cost      $0.5\n"},
		"of an earlier worker": {contract.Outcome{Usage: used, CostNanoUSD: 500_000_000}, contract.FromHistory, "500000000", "cost      $0.5\n"},
		"nothing used yet":     {contract.Outcome{}, contract.FromWorkflow, "0", ""},
		"in part estimated":    {contract.Outcome{Usage: domain.Usage{InputTokens: 10, Estimated: true}, CostNanoUSD: 500_000_000}, contract.FromWorkflow, "500000000", "cost      ~$0.5\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			view := account.Status{Execution: account.Execution{Outcome: c.outcome}, Server: account.Server{Source: c.source}}
			line, err := domain.Encode(Status(view))
			require.NoError(t, err)
			require.Contains(t, string(line), `"cost_nano_usd":`+c.json)
			text := StatusText(noTheme(), "notes", view, testNow)
			if c.text == "" {
				require.NotContains(t, text, "cost ")
			}
			require.Contains(t, text, c.text)
		})
	}
	prior, err := domain.Encode(Status(account.Status{Execution: account.Execution{Prior: domain.Spent{Steps: 1, Tokens: 9}}}))
	require.NoError(t, err)
	require.Contains(t, string(prior), `"prior":{"steps":1,"tokens":9,"cost_nano_usd":null}`)
}

func TestUnknownCostsOfResultsAndSteps(t *testing.T) {
	t.Parallel()
	result := func(o contract.Outcome) string {
		line, err := domain.Encode(Result(client.Result{Outcome: o}))
		require.NoError(t, err)
		return string(line)
	}
	usage := domain.Usage{InputTokens: 10}
	require.Contains(t, result(contract.Outcome{Usage: usage}), `"cost_nano_usd":null`)
	require.Contains(t, result(contract.Outcome{Usage: usage, Priced: true}), `"cost_nano_usd":0`)
	require.Contains(t, result(contract.Outcome{Usage: usage, CostNanoUSD: 5_000_000}), `"cost_nano_usd":5000000`)
	require.Contains(t, result(contract.Outcome{}), `"cost_nano_usd":0`)
	require.Contains(t, result(contract.Outcome{Code: domain.CodeTerminated}), `"cost_nano_usd":null`, "the server counts nothing")
	require.Contains(t, result(contract.Outcome{Code: domain.CodeTerminated, Usage: usage, Priced: true, CostNanoUSD: 7}), `"cost_nano_usd":7,`, "the workflow has")
	require.Equal(t, "completed · 1 step · ~10 tokens · ~$0.005", Ending(contract.Outcome{Status: domain.StatusCompleted, Steps: 1, Usage: domain.Usage{InputTokens: 10, Estimated: true}, CostNanoUSD: 5_000_000}, 0))

	step := domain.StepExecution{Step: domain.AgentStep{Usage: usage}}
	for _, c := range []struct {
		cost   int64
		priced bool
		json   string
		text   string
	}{
		{0, false, `"cost_nano_usd":null}`, "10 tokens  cost unknown"}, {0, true, `"cost_nano_usd":0}`, "10 tokens"},
		{2_000_000, true, `"cost_nano_usd":2000000}`, "10 tokens  $0.002"},
		{3_000_000, true, `"cost_nano_usd":3000000}`, "~10 tokens  ~$0.003"},
	} {
		step.Step.CostNanoUSD, step.Step.Usage.Estimated = c.cost, strings.HasPrefix(c.text, "~")
		line, err := domain.Encode(Step(step, c.priced))
		require.NoError(t, err)
		require.Contains(t, string(line), c.json)
		require.Equal(t, "  0  final_response      0 ms  "+c.text, Step(step, c.priced).Text(noTheme()))
	}
}

func TestStoppedText(t *testing.T) {
	t.Parallel()
	r := client.Result{
		Outcome: contract.Outcome{Status: domain.StatusStopped, StopReason: domain.StepsLimitReached},
		End:     contract.End{Signal: &domain.StopSignal{Reason: domain.StepsLimitReached, Message: "max_steps is 2\nand 2 are done"}},
	}
	require.Equal(t, "stopped ("+string(domain.StepsLimitReached)+"): max_steps is 2 and 2 are done", Stopped(r, false))
	require.Equal(t, "  max_steps is 2 and 2 are done", Stopped(r, true), "the view has shown the reason")
	r.Signal = new(domain.LimitUse{Rule: domain.LimitRules()[0], Total: domain.Count(domain.UnitSteps, 2), Used: domain.Count(domain.UnitSteps, 2)}.ReachedSignal())
	for source, goesOn := range map[contract.StatusSource]bool{contract.FromWorkflow: true, contract.FromHistory: true, contract.FromRecords: false, contract.FromServer: false} {
		r.Source = source
		require.Equal(t, goesOn, strings.HasSuffix(Stopped(r, false), "; extend it with a higher max_steps to go on"), "of %s: what no workflow has nobody can extend", source)
	}
	r.Signal = nil
	require.Equal(t, "stopped ("+string(domain.StepsLimitReached)+")", Stopped(r, false))
	require.Empty(t, Stopped(r, true))
	r.Outcome.Status = domain.StatusFailed
	require.Empty(t, Stopped(r, false), "its error says it")
}

func TestLeftBehind(t *testing.T) {
	t.Parallel()
	r := client.Result{End: contract.End{SaidLast: "found\nit"}, Outcome: contract.Outcome{Status: domain.StatusStopped, EffectCounts: domain.EffectCounts{
		Calls: []domain.EffectCount{{Tool: "mail", Done: 2}, {Tool: "pay", Done: 1, Unknown: 1}, {Tool: "ship", Unknown: 1}},
	}}}
	done := "has done: mail 2, pay 1 and 1 of unknown outcome, ship 1 of unknown outcome"
	require.Equal(t, []string{"said last: found it", done}, LeftBehind(r))
	r.Outcome.Unknown, r.SaidLast = true, strings.Repeat("x", 2000)
	lines := LeftBehind(r)
	require.Less(t, len(lines[0]), 600)
	require.Contains(t, lines[0], "--json has more")
	require.Equal(t, done+", what a sub-agent that was lost has done nobody knows", lines[1])
	require.Empty(t, LeftBehind(client.Result{Outcome: contract.Outcome{Status: domain.StatusFailed}}))
	r.Outcome.Status = domain.StatusCompleted
	require.Empty(t, LeftBehind(r), "its answer says it")
}

func TestFailureText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "openai-chat: no ␛[31mkey", Failure(domain.Invalidf("no \x1b[31mkey").From("openai-chat")))
	require.Equal(t, "openai: no", Failure(domain.Invalidf("openai: no").From("openai")))
}

// TestFoldBreaksBetweenWordsAlone, below what follows a name, and leaves a pipe alone.
func TestFoldBreaksBetweenWordsAlone(t *testing.T) {
	t.Parallel()
	out := Plain(&strings.Builder{})
	text := "warn  storage        the folder is not there\n  why       it was told to-stop by a user\nplain words that go on\na-path/that-has-no-end-at-all-here/and-on x\n\n"
	require.Equal(t, text, out.Fold(text))
	out.Width = func() int { return 30 }
	require.Equal(t, "warn  storage        the\n      folder is not there\n  why       it was told\n            to-stop by a user\nplain words that go on\n"+
		"a-path/that-has-no-end-at-all-here/and-on\nx\n\n", out.Fold(text), "no line ends with blanks, which a terminal would break once more")
	out.Width = func() int { return 26 }
	require.Equal(t, "  not kept   two steps of\n             three\n  a line of  words\n", out.Fold("  not kept   two steps of three\n  a line of  words\n"))
}
