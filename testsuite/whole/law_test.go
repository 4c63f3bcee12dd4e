package whole_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	agentaccount "everstep/domain/account"
	"everstep/domain/contract"
	"everstep/domain/progress"
	agents "everstep/starter/client"
	"everstep/worker/host/codec"
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
			all, held, _, err := replayedAccount(t, history.GetEvents(), wholePage...)
			require.NoError(t, err)
			requireHeld(t, held, took)
			kept, err := all.KeptSteps()
			require.NoError(t, err)
			audited := 0
			for _, execution := range all.Executions {
				number := execution.Number
				if _, here := told[number]; !here || number <= over || execution.Ended == nil { // of an earlier run, or under way
					continue
				}
				audited++
				at := told[number].Execution
				require.Equal(t, execution.ExecutionID, at.ID)
				require.Equal(t, &execution.Outcome, at.Outcome, "the outcome")
				var own []domain.StepExecution
				for i, step := range all.Steps {
					if step.Execution == number {
						own = append(own, kept[i])
					}
				}
				steps := sinceRun(own, at)
				if tells, _ := at.Steps(false); len(told[number].Hooks) == 0 {
					for i, step := range steps {
						require.Equal(t, step.Step.Effects(), tells[i].Effects(), "what step %d has done", step.Step.Number)
					}
				}
				require.Equal(t, stopsOf(t, *all.Head, number), at.Stops)
				for _, signal := range at.Signals() {
					if ended := execution.Ended.Signal; ended != nil && signal.Reason == ended.Reason {
						require.Equal(t, *ended, signal)
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

// requireHeld: what a run holds is known from what it began with, so that nobody has to ask for that.
func requireHeld(t *testing.T, held agentaccount.Held, took progress.Takeover) {
	t.Helper()
	require.Equal(t, held.Messages, took.FirstMessage)
	for _, e := range held.Executions {
		if e.Number == took.Number && !e.EndedBefore {
			require.Equal(t, e.Step, took.FirstStep)
			require.EqualValues(t, e.Event, took.FirstEvent)
		}
	}
}

// stopsOf are the requests to stop of the newest execution.
func stopsOf(t *testing.T, head agentaccount.Head, number int) []domain.StopSignal {
	t.Helper()
	state, err := domain.DecodeAgentState(head.State)
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
