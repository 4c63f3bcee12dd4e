package render

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/enum"
	"everstep/starter/client"
)

// explainedAgent is a view with something of everything.
func explainedAgent(t *testing.T) client.ExplainView {
	return sampleOf[client.ExplainView](t, "explain.json")
}

// sampleOf is what a file of testdata holds as JSON.
func sampleOf[T any](t *testing.T, file string) (sample T) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &sample))
	return sample
}

func TestExplainText(t *testing.T) {
	t.Parallel()
	got := Explanation(Plain(nil), explainedAgent(t), testNow)
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
		},
		Signals: []client.ExplainSignal{{StopSignal: domain.StopSignal{Reason: domain.UserRequested, Source: "user", Message: "enough"}, Fate: client.SignalPending}},
		Steps: []client.ExplainStep{{Number: 1, InProgress: true, Tools: []client.ExplainTool{
			{Tool: "work", Outcome: domain.ToolRunning, Attempts: 1}, {Tool: "pay", Outcome: domain.ToolNotRun, Waits: []domain.Wait{{Kind: domain.WaitApproval, Since: testNow}}},
		}}},
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
	require.Contains(t, got, "pay · waits for approval since "+moment(testNow))
	require.Contains(t, got, "steps     0, and one in progress")
	v.Steps[0].InProgress, v.Steps[0].Interrupted = false, true
	cut := Explanation(Plain(nil), v, testNow)
	require.Contains(t, cut, "pay · nobody answered what was asked "+moment(testNow)+" · not run")
	require.Contains(t, cut, "steps     0, and one that was cut off")
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
	v := explainedAgent(t)
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
	for line := range strings.Lines(Explanation(out, explainedAgent(t), testNow)) {
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
	v := explainedAgent(t)
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
