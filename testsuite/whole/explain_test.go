package whole_test

import (
	"encoding/json"
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
