package whole_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
	agents "everstep/starter/client"
	"everstep/worker/host/codec"
	"everstep/workflows/replay"
)

// TestHistoriesTellOneStory replays a fresh history of each kind, asks the workflow for what it has kept, and holds what
// the events alone tell against it.
func TestHistoriesTellOneStory(t *testing.T) {
	t.Parallel()
	fresh := freshHistories(t)
	for name, history := range fresh {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if of := history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName(); of != string(contract.Execute) {
				t.Skip("it is no agent's, but of " + of)
			}
			compress := codec.New()
			first := history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetFirstExecutionRunId()
			told := map[int]progress.Agent{}
			agent, took, over := progress.Agent{}, progress.Takeover{}, 0 // so many were over before it
			for recorded := range agents.FactsOf(history, compress.DataConverter()) {
				if began, ok := recorded.Fact.(progress.RunBegan); ok {
					agent, took = progress.NewAgent(began.Input.AgentID, first), progress.Carried(began.Input)
				}
				agent = agent.With(recorded.Fact, recorded.At)
				if _, ok := recorded.Fact.(progress.RunBegan); ok && !agent.Execution.Running {
					over = agent.Execution.Number
				}
				told[agent.Execution.Number] = agent
			}
			require.Empty(t, agent.Unread)
			requireHeld(t, history, took)
			audited := 0
			for number := 1; number <= agent.Execution.Number; number++ {
				page := replayedAnswer(t, history, contract.QuerySteps, contract.StepsRequest{Number: number})
				if _, here := told[number]; !here || number <= over || page.Outcome == nil { // of an earlier run, or under way
					continue
				}
				audited++
				at := told[number].Execution
				require.Equal(t, page.ExecutionID, at.ID)
				require.Equal(t, page.Outcome, at.Outcome, "the outcome")
				kept, err := page.Kept()
				require.NoError(t, err)
				steps := sinceRun(kept, at)
				if tells, _ := at.Steps(false); len(told[number].Hooks) == 0 {
					for i, step := range steps {
						require.Equal(t, step.Step.Effects(), tells[i].Effects(), "what step %d has done", step.Step.Number)
					}
				}
				require.Equal(t, stopsOf(t, history, number), at.Stops)
				for _, signal := range at.Signals() {
					if page.Signal != nil && signal.Reason == page.Signal.Reason {
						require.Equal(t, *page.Signal, signal)
					}
				}
			}
			if !agent.Execution.Running && agent.Execution.Number > over {
				require.Positive(t, audited)
			}
		})
	}
}

// sinceRun leaves out the steps of earlier runs.
func sinceRun(steps []domain.StepExecution, at progress.Execution) []domain.StepExecution {
	first := 0
	if told, _ := at.Steps(false); len(told) > 0 {
		first = told[0].Number
	}
	for len(steps) > 0 && steps[0].Step.Number < first {
		steps = steps[1:]
	}
	return steps
}

// replayedAnswer replays a history, and asks the workflow as it was then.
func replayedAnswer[In, Out any](t *testing.T, history *historypb.History, query contract.Query[In, Out], in In) (out Out) {
	t.Helper()
	started := history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	execution := workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()}
	_, err := replay.Ask(t.Context(), history.GetEvents(), execution, replay.Options{DataConverter: codec.New().DataConverter()}, func(q *replay.Queries) (err error) {
		out, err = replay.Query(q, query, in)
		return err
	})
	require.NoError(t, err)
	return out
}

// requireHeld: what a run holds is known from what it began with, so that nobody has to ask for that.
func requireHeld(t *testing.T, history *historypb.History, took progress.Takeover) {
	t.Helper()
	messages := replayedAnswer(t, history, contract.QueryMessages, contract.MessagesRequest{})
	require.Equal(t, messages.Base, took.FirstMessage)
	steps := replayedAnswer(t, history, contract.QuerySteps, contract.StepsRequest{Number: took.Number})
	if len(steps.Steps) > 0 {
		require.Equal(t, steps.First, took.FirstStep)
	}
	events := replayedAnswer(t, history, contract.QueryEvents, contract.EventsRequest{Number: took.Number})
	if len(events.Events) > 0 {
		require.EqualValues(t, events.First, took.FirstEvent)
	}
}

// stopsOf are the requests to stop of the newest execution.
func stopsOf(t *testing.T, history *historypb.History, number int) []domain.StopSignal {
	t.Helper()
	view := replayedAnswer(t, history, contract.QueryState, contract.StateRequest{})
	state, err := domain.DecodeAgentState(view.State)
	require.NoError(t, err)
	if state.ExecutionCount() != number {
		return nil
	}
	var stops []domain.StopSignal
	c := state.Continuation()
	for _, signals := range [][]domain.StopSignal{c.StopSignals, c.Overridden, c.Late} {
		for _, signal := range signals {
			if signal.Reason == domain.UserRequested {
				stops = append(stops, signal)
			}
		}
	}
	return stops
}
