package render

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/starter/client"
)

// explainedAgent is a view with something of everything.
func explainedAgent() client.ExplainView {
	began := testNow.Add(-time.Minute)
	at := func(s int) *time.Time { return new(began.Add(time.Duration(s) * time.Second)) }
	usage := domain.Usage{InputTokens: 1200, OutputTokens: 34, CacheReadTokens: 1000, ReasoningTokens: 12}
	lost := domain.Usage{InputTokens: 100, Estimated: true}
	v := client.ExplainView{
		Execution: client.Execution{ID: "notes", Number: 2}, Status: domain.StatusStopped, Model: new("scripted/\x1bx"),
		StartedAt: &began, EndedAt: at(50), Milliseconds: new(int64(50_000)),
		Ending: &client.ExplainEnding{
			StopReason: domain.StepsLimitReached, Summary: "it reached its limit of steps: max_steps is 2 and 2 are done",
			Signal: &client.ExplainSignal{StopSignal: domain.StopSignal{Reason: domain.StepsLimitReached, Source: "budget"}, Fate: client.SignalCounted},
			Others: []client.ExplainSignal{
				{StopSignal: domain.StopSignal{Reason: domain.UserRequested, Source: "user", Message: "enough\x1b[2J"}, Fate: client.SignalOutranked},
				{StopSignal: domain.StopSignal{Reason: domain.StopRequested, Source: "tidy"}, Fate: client.SignalOverridden},
				{StopSignal: domain.StopSignal{Reason: domain.StopRequested, Source: "tidy"}, Fate: client.SignalLate},
			},
		},
		Steps: []client.ExplainStep{
			{
				Number: 1, Type: new(domain.StepToolExecution), StartedAt: at(0), Milliseconds: new(int64(1234)), Usage: usage,
				CostNanoUSD: new(int64(4_200_000)), FinishReason: new(domain.FinishToolCalls),
				Retries: []client.ExplainRetry{{Attempts: 2, Reason: "too many\nrequests", Code: new(domain.CodeQuota), Usage: lost, CostNanoUSD: new(int64(100))}},
				Compactions: []client.ExplainCompaction{
					{Kind: client.CompactionCleared, Before: 7}, {Kind: client.CompactionSummary, Before: 9, Usage: usage},
				},
				Tools: []client.ExplainTool{
					{Tool: "list_files", Arguments: `{"path":"."}`, Outcome: domain.ToolOK, Milliseconds: new(int64(12)), Attempts: 1},
					{Tool: "read_file", Arguments: `{"path":"a"}`, Outcome: domain.ToolFailed, Milliseconds: new(int64(3)), Attempts: 3, Error: domain.Errorf(domain.Invalid, "there is no a")},
					{Tool: "rm", Outcome: domain.ToolBlocked, Error: domain.CodedErrorf(domain.Denied, domain.CodeBlocked, "not here")},
				},
			},
			{
				Number: 2, Type: new(domain.StepError), Interrupted: true, StartedAt: at(2), Usage: lost,
				Errors: []domain.Error{*domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "cut off by a stop")},
			},
		},
		Totals: client.ExplainTotals{Steps: 2, Usage: usage, ToolCalls: 2},
		Waste: client.ExplainWaste{
			FailedAttempts: 2, Usage: lost, CostNanoUSD: new(int64(100)), Share: new(0.081),
			Repeated:   []client.ExplainRepeat{{Tool: "read_file", Arguments: `{"path":"a"}`, Times: 3, Steps: []int{1, 2}, ResultTokens: 512}},
			ErrorSteps: []int{1, 2},
		},
		Budget: []client.ExplainLimit{
			{Limit: domain.LimitSteps, Unit: domain.UnitSteps, Total: new(int64(3)), Used: new(int64(2)), Prior: new(int64(1)), Left: new(int64(0)), Reached: true},
			{Limit: domain.LimitCost, Unit: domain.UnitNanoUSD, Total: new(int64(500_000_000)), Left: new(int64(0))},
			{Limit: domain.LimitSeconds, Unit: domain.UnitMilliseconds, Total: new(int64(90_000)), Used: new(int64(50_000)), Prior: new(int64(0)), Left: new(int64(40_000))},
			{Limit: domain.LimitDeadline, Unit: domain.UnitTime, Deadline: new(testNow.Add(time.Hour))},
		},
		Advice: []client.ExplainAdvice{{Text: "raise the limit", Command: "starter extend notes --max-steps 6"}},
		History: client.ExplainHistory{
			HistoryView: contract.HistoryView{Events: 120, Bytes: 40_960, Runs: 3}, Steps: 10, BytesPerStep: new(int64(4096)), EventsPerStep: new(int64(12)),
			ContinueEvents: 4096, ContinueBytes: 4 << 20, Share: 0.0293, StepsLeft: new(int64(331)),
		},
		Context: &client.ExplainContext{Tokens: 1300, Window: new(int64(16_000)), Share: new(0.08125)},
		Missing: []string{"no worker answers", "the cost"},
	}
	return v
}

func TestExplainText(t *testing.T) {
	t.Parallel()
	got := Explanation(Plain(nil), explainedAgent(), testNow)
	requireHarmless(t, got)
	zone := moment(testNow.Add(-time.Minute))
	deadline := moment(testNow.Add(time.Hour))
	requireGolden(t, "explain", strings.NewReplacer(zone, "BEGAN", deadline, "DEADLINE").Replace(got))
}

func TestExplainTextOfARunningOne(t *testing.T) {
	t.Parallel()
	v := client.ExplainView{
		Execution: client.Execution{ID: "notes", Number: 1}, Status: domain.StatusInProgress,
		Doing: &client.ExplainDoing{
			Text: "step 1: waiting for the model", Since: new(testNow.Add(-4 * time.Second)), Paused: true,
			Signals: []client.ExplainSignal{{StopSignal: domain.StopSignal{Reason: domain.UserRequested, Source: "user", Message: "enough"}, Fate: client.SignalPending}},
		},
		Steps: []client.ExplainStep{{Number: 1, InProgress: true, Tools: []client.ExplainTool{{Tool: "work", Outcome: domain.ToolRunning, Attempts: 1}}}},
	}
	got := Explanation(Plain(nil), v, testNow)
	require.Contains(t, got, "paused · step 1: waiting for the model, for 4.0 s")
	v.Doing.Text = "paused"
	require.Contains(t, Explanation(Plain(nil), v, testNow), "doing     paused, for 4.0 s")
	require.Contains(t, got, "also user_requested by user: enough · will end it")
	require.Contains(t, got, "in progress")
	require.Contains(t, got, "work · running")
	require.Contains(t, got, "budget    unknown", "what nobody can tell is not shown as nothing")
	require.Contains(t, got, "cost unknown")
}

func TestExplainTextFoldsWhatIsLong(t *testing.T) {
	t.Parallel()
	var v client.ExplainView
	for n := range 200 {
		v.Steps = append(v.Steps, client.ExplainStep{Number: n + 1, Type: new(domain.StepToolExecution)})
		v.Waste.ErrorSteps = append(v.Waste.ErrorSteps, n+1)
	}
	for range 40 {
		v.Steps[0].Tools = append(v.Steps[0].Tools, client.ExplainTool{Tool: "echo", Outcome: domain.ToolOK})
	}
	v.Steps[0].Tools[39] = client.ExplainTool{Tool: "last", Outcome: domain.ToolUnknown, Error: domain.Errorf(domain.Internal, "lost")}
	got := Explanation(Plain(nil), v, testNow)
	require.Less(t, strings.Count(got, "\n"), 80)
	require.Contains(t, got, "… and 160 more steps; --json has them all")
	require.Contains(t, got, "… and 28 more calls\n        last · outcome unknown: lost", "what went wrong is shown")
	require.Contains(t, got, "… and 188 more\n")
	require.Contains(t, got, "  200 ", "the last step is shown")
}

func TestExplainTellsOfAReset(t *testing.T) {
	t.Parallel()
	v := explainedAgent()
	require.NotContains(t, Explanation(Plain(nil), v, testNow), "reset")
	v.History.ResetAt = new(testNow)
	require.Contains(t, Explanation(Plain(nil), v, testNow), "an operator reset the workflow "+moment(testNow)+": what was done after that point may be done again\n")
}

func TestExplainWordsForAll(t *testing.T) {
	t.Parallel()
	for _, fate := range enum.Known[client.SignalFate]() {
		require.NotEqual(t, string(fate), fateWords(fate))
	}
}

// TestExplanationFitsATerminal: columns on the right are left out.
func TestExplanationFitsATerminal(t *testing.T) {
	t.Parallel()
	out := Plain(nil)
	out.Width = func() int { return 60 }
	for line := range strings.Lines(Explanation(out, explainedAgent(), testNow)) {
		if strings.Contains(line, "tool_execution") {
			require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), 60, line)
			require.NotContains(t, line, "tool_calls", "how it ended")
		}
	}
	table := Table{Numbers: true, Head: []string{"boundary", "kills", "lost steps"}, Rows: [][]string{{"all", "7", "0"}}}
	require.Equal(t, "boundary  kills  lost steps\nall           7           0\n", table.Render(Plain(nil)))
	out.Width = func() int { return 26 }
	require.Equal(t, "boundary  kills\nall           7\nno room for lost steps: a\nwider terminal or --json\nshows more\n", table.Render(out), "half a number tells nothing")
	out.Width = func() int { return 30 }
	status := Table{Columns: "--columns", Head: []string{"ID", "STATUS", "COST"}, Rows: [][]string{{"a-name-of-twenty-long", "broken: 3 problems", "$1"}}}
	require.Equal(t, "ID                     STATUS\na-name-of-twenty-long  broken…\nno room for COST: a wider\nterminal or --columns shows\nmore\n", status.Render(out),
		"what says that something is wrong is cut before it goes")
}

// TestExplainMarksEstimatedCosts as it marks the tokens beside them.
func TestExplainMarksEstimatedCosts(t *testing.T) {
	t.Parallel()
	v := explainedAgent()
	v.Steps[0].Usage.Estimated, v.Totals.Usage.Estimated, v.Totals.CostNanoUSD = true, true, new(int64(7_000_000))
	text := Explanation(Plain(nil), v, testNow)
	require.Contains(t, text, "~$0.0042")
	require.Contains(t, text, "~$0.007")
	require.Contains(t, text, "~100 tokens, ~$0.0000001: too many requests")
	v.Steps[0].Usage.Estimated, v.Totals.Usage.Estimated = false, false
	text = Explanation(Plain(nil), v, testNow)
	require.NotContains(t, text, "~$0.0042")
	require.NotContains(t, text, "~$0.007")
}
