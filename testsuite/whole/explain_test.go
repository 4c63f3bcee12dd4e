package whole_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// explainScript fails once, calls a tool twice for the same thing and once in
// vain, and answers.
const explainScript = `
turns:
  - failures: [{status: 429}, {cut_after: 4}]
    text: looking around
    tool_calls: [{name: echo, arguments: {text: x}}, {name: echo, arguments: {text: 7}}]
    usage: {input_tokens: 100, output_tokens: 50}
  - text: once more
    tool_calls: [{name: echo, arguments: {text: x}}]
    usage: {input_tokens: 200, output_tokens: 30}
  - text: done
    usage: {input_tokens: 300, output_tokens: 10}
`

func (s *stack) explained(t *testing.T, id string) client.ExplainView {
	t.Helper()
	view, err := s.agents.Explain(within(t), id, 0)
	require.NoError(t, err)
	requireSums(t, view)
	return view
}

// requireSums adds the steps up once more, from what the JSON says.
func requireSums(t *testing.T, view client.ExplainView) {
	t.Helper()
	text, err := json.Marshal(view)
	require.NoError(t, err)
	type part struct {
		Usage domain.Usage `json:"usage"`
		Lost  domain.Usage `json:"lost_usage"`
		Cost  *int64       `json:"cost_nano_usd"`
	}
	var read struct {
		Steps  []part `json:"steps"`
		Totals part   `json:"totals"`
		Waste  part   `json:"waste"`
	}
	require.NoError(t, json.Unmarshal(text, &read))
	var sum, lost, cost int64
	for _, s := range read.Steps {
		sum, lost = sum+s.Usage.TotalTokens(), lost+s.Lost.TotalTokens()
		if s.Cost != nil {
			cost += *s.Cost
		}
	}
	require.Equal(t, read.Totals.Usage.TotalTokens(), sum)
	require.Equal(t, read.Waste.Usage.TotalTokens(), lost)
	if read.Totals.Cost != nil {
		require.Equal(t, *read.Totals.Cost, cost)
	}
	if r := view.Reported; r != nil && r.Steps == len(view.Steps) {
		require.Equal(t, r.Usage, view.Totals.Usage, "the execution counts the same")
	}
}

// pricedScript is the scripted agent with a price.
func pricedScript(t testing.TB, script string, tools ...string) domain.Definition {
	t.Helper()
	d := scripted(writeScript(t, script), tools...)
	d.Model.Price = &domain.Price{Input: 1_000_000, Output: 10_000_000}
	return d
}

func TestExplainACompletedOne(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	worker := s.work(t, host.Config{Tools: []tool.Tool{echo()}})
	begun, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: pricedScript(t, explainScript, "echo")})
	require.NoError(t, err)
	result, err := s.agents.Wait(within(t), begun.ID, 0)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)

	v := s.explained(t, begun.ID)
	require.Empty(t, v.Missing)
	require.Equal(t, contract.FromWorkflow, v.Source)
	require.Equal(t, domain.Completed, v.Ending.StopReason)
	require.Empty(t, v.Advice)
	require.Len(t, v.Steps, 3)
	require.Equal(t, result.Outcome.Usage.TotalTokens(), v.Totals.Usage.TotalTokens())
	require.Equal(t, result.Outcome.CostNanoUSD, *v.Totals.CostNanoUSD)
	require.Positive(t, *v.Totals.CostNanoUSD)

	first := v.Steps[0]
	require.Equal(t, 2, first.FailedAttempts, "one was refused, one was cut off")
	require.Positive(t, first.Lost.TotalTokens())
	require.Positive(t, *first.LostNanoUSD)
	require.Equal(t, domain.ToolOK, first.Tools[0].Outcome)
	require.Equal(t, domain.ToolFailed, first.Tools[1].Outcome)
	require.Equal(t, first.Lost, v.Waste.Usage)
	require.Len(t, v.Waste.Repeated, 1)
	require.Equal(t, 2, v.Waste.Repeated[0].Times)
	require.Equal(t, []int{1, 2}, v.Waste.Repeated[0].Steps)
	require.Equal(t, []int{1}, v.Waste.ErrorSteps)
	require.Equal(t, 3, v.History.Steps)
	require.Equal(t, 1, v.History.Runs)
	require.Positive(t, *v.History.StepsLeft)

	worker.Stop()
	alone := s.explained(t, begun.ID)
	require.Equal(t, contract.FromHistory, alone.Source)
	alone.Source = v.Source
	require.Equal(t, v, alone, "a replay tells the same")
}

func TestExplainOneStoppedAtLimits(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	worker := s.work(t, host.Config{Tools: []tool.Tool{echo()}})
	begun, err := s.agents.Start(within(t), client.Start{
		Prompt: "go", Definition: pricedScript(t, explainScript, "echo"),
		Budget: domain.ExecutionBudget{MaxSteps: new(int64(2)), MaxTokens: new(int64(100_000)), MaxSeconds: new(600.0)},
	})
	require.NoError(t, err)
	_, err = s.agents.Wait(within(t), begun.ID, 0)
	require.NoError(t, err)

	v := s.explained(t, begun.ID)
	require.Equal(t, domain.StatusStopped, v.Status)
	require.Contains(t, v.Ending.Summary, "it reached its limit of steps: max_steps is 2")
	require.Equal(t, "budget", v.Ending.Signal.Source)
	require.Equal(t, "extend "+begun.ID+" --max-steps 4", v.Advice[0].Command)
	require.Equal(t, []domain.Limit{domain.LimitSteps, domain.LimitTokens, domain.LimitSeconds}, limitNames(v.Budget))
	require.Equal(t, []bool{true, false, false}, []bool{v.Budget[0].Reached, v.Budget[1].Reached, v.Budget[2].Reached})
	require.Equal(t, int64(0), *v.Budget[0].Left)
	require.Equal(t, 100_000-v.Totals.Usage.TotalTokens(), *v.Budget[1].Left)
	require.Less(t, *v.Budget[2].Left, int64(600_000))

	worker.Stop()
	alone := s.explained(t, begun.ID)
	require.Equal(t, v.Budget[:2], alone.Budget[:2], "the budget is in history too")
	require.Equal(t, v.Advice, alone.Advice)
	require.Contains(t, alone.Ending.Summary, "it reached its limit of steps")
}

func limitNames(limits []client.ExplainLimit) []domain.Limit {
	var names []domain.Limit
	for _, l := range limits {
		names = append(names, l.Limit)
	}
	return names
}

func TestExplainAFailedOne(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	worker := s.work(t, host.Config{Tools: []tool.Tool{echo()}})
	begun := s.begin(t, `
turns:
  - {text: a, tool_calls: [{name: echo, arguments: {text: x}}], usage: {input_tokens: 100, output_tokens: 50}}
  - {text: b, failures: [{status: 401}]}
`, "echo")
	_, err := s.agents.Wait(within(t), begun.ID, 0)
	require.NoError(t, err)

	v := s.explained(t, begun.ID)
	require.Equal(t, domain.StatusFailed, v.Status)
	require.Equal(t, domain.CodeAuth, v.Ending.Error.Code)
	require.True(t, strings.HasPrefix(v.Ending.Summary, "it failed: "), v.Ending.Summary)
	require.Contains(t, v.Advice[0].Text, "the provider refused the key")
	require.Equal(t, "extend "+begun.ID, v.Advice[0].Command)
	require.Len(t, v.Steps, 2)
	require.Equal(t, domain.StepError, *v.Steps[1].Type)
	require.Equal(t, 1, v.Steps[1].FailedAttempts)
	require.Nil(t, v.Totals.CostNanoUSD, "a scripted model has no price")

	worker.Stop()
	alone := s.explained(t, begun.ID)
	require.Equal(t, domain.CodeAuth, alone.Ending.Error.Code)
	require.Equal(t, v.Advice, alone.Advice)
	require.Equal(t, v.Totals, alone.Totals)
}

func TestExplainARunningOne(t *testing.T) {
	t.Parallel()
	shop := newWorkshop()
	s := start(t, host.Config{Tools: []tool.Tool{shop.tool(domain.ReadOnly)}})
	defer shop.open()
	begun := s.begin(t, toolScript, "work")
	<-shop.began
	<-shop.began
	v := s.explained(t, begun.ID)
	require.Equal(t, domain.StatusInProgress, v.Status)
	require.Nil(t, v.Ending)
	require.Nil(t, v.EndedAt)
	require.Contains(t, v.Doing.Text, "work")
	require.Len(t, v.Steps, 1)
	require.True(t, v.Steps[0].InProgress)
	require.Equal(t, int64(70), v.Totals.Usage.TotalTokens())
	require.Equal(t, []domain.ToolOutcome{domain.ToolRunning, domain.ToolRunning},
		[]domain.ToolOutcome{v.Steps[0].Tools[0].Outcome, v.Steps[0].Tools[1].Outcome})
}

// TestExplainOneThatNoWorkerHasSeen says what there is, which is little, and
// nothing that is not so.
func TestExplainOneThatNoWorkerHasSeen(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	begun, err := s.agents.Start(within(t), client.Start{
		Prompt: "go", Definition: pricedScript(t, explainScript), Budget: domain.ExecutionBudget{MaxSteps: new(int64(2))},
	})
	require.NoError(t, err)
	v := s.explained(t, begun.ID)
	require.Equal(t, contract.FromHistory, v.Source)
	require.Equal(t, "it waits for a worker of task queue "+s.queue+" to go on", v.Doing.Text)
	require.Empty(t, v.Steps)
	require.Equal(t, int64(2), *v.Budget[0].Left)
	require.Empty(t, v.Missing)
	require.Nil(t, v.Context)

	_, err = s.agents.Explain(within(t), begun.ID, 2)
	require.ErrorIs(t, err, &client.Error{Class: client.NotFound})
	_, err = s.agents.Explain(within(t), "nobody-"+s.queue, 0)
	require.ErrorIs(t, err, &client.Error{Class: client.NotFound})
}

// TestExplainOverManyRuns reads steps, totals and sizes over a chain of runs,
// with and without a worker.
func TestExplainOverManyRuns(t *testing.T) {
	t.Parallel()
	const steps = 30
	s := connect(t, "continuing", continuing)
	worker := s.work(t, host.Config{Tools: []tool.Tool{echo()}})
	begun, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: scripted(longScript(t, steps, 1), "echo")})
	require.NoError(t, err)
	_, err = s.agents.Wait(within(t), begun.ID, 0)
	require.NoError(t, err)
	v := s.explained(t, begun.ID)
	require.Len(t, v.Steps, steps+1)
	require.Equal(t, int64(12*(steps+1)), v.Totals.Usage.TotalTokens())
	require.Greater(t, v.History.Runs, 2)
	require.Less(t, v.History.Steps, steps)
	worker.Stop()
	alone := s.explained(t, begun.ID)
	require.Equal(t, v.Totals, alone.Totals)
	require.Equal(t, v.History.Runs, alone.History.Runs)
}

// TestExplainOneThatGoesOn: what the execution before used is told beside its
// own, whose totals are its own; the one before can still be explained.
func TestExplainOneThatGoesOn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "explained"} {
		t.Run("name "+name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, "plain", nil)
			worker := s.work(t, host.Config{Tools: []tool.Tool{echo()}})
			if name != "" {
				name = s.named(name)
			}
			begun, err := s.agents.Start(within(t), client.Start{
				ID: name, Prompt: "go", Definition: pricedScript(t, explainScript, "echo"), Budget: domain.ExecutionBudget{MaxSteps: new(int64(1))},
			})
			require.NoError(t, err)
			_, err = s.agents.Wait(within(t), begun.ID, 0)
			require.NoError(t, err)
			stopped := s.explained(t, begun.ID)
			_, err = s.agents.Extend(within(t), begun.ID, client.ExtendOptions{Budget: domain.ExecutionBudget{MaxSteps: new(int64(2))}})
			require.NoError(t, err)
			_, err = s.agents.Wait(within(t), begun.ID, 2)
			require.NoError(t, err)

			v := s.explained(t, begun.ID)
			require.Equal(t, 2, v.Number)
			require.Equal(t, stopped.ExecutionID, *v.Origin)
			require.Len(t, v.Steps, 1)
			require.Equal(t, []int64{2, 1, 1, 0}, []int64{*v.Budget[0].Total, *v.Budget[0].Used, *v.Budget[0].Prior, *v.Budget[0].Left})
			require.Equal(t, "extend "+begun.ID+" --max-steps 4", v.Advice[0].Command)

			before, err := s.agents.Explain(within(t), begun.ID, 1)
			require.NoError(t, err)
			require.Equal(t, stopped.ExecutionID, before.ExecutionID)
			require.Equal(t, stopped.Totals, before.Totals)
			require.Equal(t, stopped.Ending.StopReason, before.Ending.StopReason)
			require.Equal(t, stopped.Budget, before.Budget)
			for _, advice := range before.Advice {
				require.Empty(t, advice.Command, "only the newest can go on")
			}

			worker.Stop()
			alone := s.explained(t, begun.ID)
			require.Equal(t, v.Totals, alone.Totals)
			require.Equal(t, v.Origin, alone.Origin)
		})
	}
}

// TestExplainCommand: people and programs get the same facts, and the command
// that goes on is one that can be typed.
func TestExplainCommand(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	c := newCLI(t).at(s)
	begun, err := s.agents.Start(context.Background(), client.Start{
		Prompt: "go", Definition: pricedScript(t, explainScript, "echo"), Budget: domain.ExecutionBudget{MaxSteps: new(int64(1))},
	})
	require.NoError(t, err)
	_, err = s.agents.Wait(within(t), begun.ID, 0)
	require.NoError(t, err)
	text := c.ok("explain", begun.ID)
	require.Contains(t, text, "it reached its limit of steps")
	require.Contains(t, text, "starter extend "+begun.ID+" --max-steps 2")
	require.NotContains(t, text, "\x1b", "no colour where no terminal reads")
	value := c.json("explain", begun.ID, "--execution", "1")
	require.Equal(t, "stopped", value["status"])
	advice := value["advice"].([]any)[0].(map[string]any)
	require.Equal(t, "starter extend "+begun.ID+" --max-steps 2", advice["command"])
	require.Equal(t, 4, c.do("explain", "nobody-"+s.queue).code)
	require.Equal(t, 2, c.do("explain").code)
}
