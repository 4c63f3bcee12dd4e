package guards_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/domain/progress"
	agents "everstep/starter/client"
	"everstep/testsuite/internal/kept"
	"everstep/worker/host/codec"
	"everstep/workflows"
)

// TestKeptHistoriesTellOneStory replays every kept history, asks the workflow
// for what it has kept, and holds what the events alone tell against it.
func TestKeptHistoriesTellOneStory(t *testing.T) {
	t.Parallel()
	for _, path := range keptFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			t.Parallel()
			history := readHistory(t, path)
			if of := history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName(); of != string(contract.Execute) {
				t.Skip("it is no agent's, but of " + of)
			}
			asked := replayedQueries(t, history)
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
			if asked.steps == nil {
				return // the workflow refused what it was started with
			}
			asked.requireHeld(t, took)
			audited := 0
			for number := 1; number <= agent.Execution.Number; number++ {
				page, err := asked.steps(contract.StepsRequest{Number: number})
				require.NoError(t, err)
				if _, here := told[number]; !here || number <= over || page.Outcome == nil { // of an earlier run, or under way
					continue
				}
				audited++
				at := told[number].Execution
				require.Equal(t, page.ExecutionID, at.ID)
				if at.Outcome.Calls == nil { // it was recorded before executions said what they have done
					page.Outcome.EffectCounts = domain.EffectCounts{}
				}
				require.Equal(t, page.Outcome, ended(at.Outcome), "the outcome")
				kept, err := page.Kept()
				require.NoError(t, err)
				steps := after(kept, at)
				require.Empty(t, at.Compare(told[number].Hooks, steps))
				if tells, _ := at.Steps(false); len(told[number].Hooks) == 0 {
					for i, step := range steps {
						require.Equal(t, step.Step.Effects(), tells[i].Effects(), "what step %d has done", step.Step.Number)
					}
				}
				require.Equal(t, asked.stopsOf(t, number), at.Stops)
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

// after leaves out the steps of earlier runs.
func after(steps []domain.StepExecution, at progress.Execution) []domain.StepExecution {
	first := 0
	if told, _ := at.Steps(false); len(told) > 0 {
		first = told[0].Number
	}
	for len(steps) > 0 && steps[0].Step.Number < first {
		steps = steps[1:]
	}
	return steps
}

// ended is an outcome without what only its end knows.
func ended(o *contract.Outcome) *contract.Outcome {
	if o == nil {
		return nil
	}
	own := *o
	own.Rewritten = false
	return &own
}

// askable are the queries of a workflow that was replayed.
type askable struct {
	steps func(contract.StepsRequest) (contract.StepsPage, error)
	state func(contract.StateRequest) (contract.StateView, error)

	events   func(contract.EventsRequest) (contract.EventsPage, error)
	messages func(contract.MessagesRequest) (contract.MessagesPage, error)
}

// requireHeld: what a run holds is known from what it began with, so that nobody has to ask for that.
func (a askable) requireHeld(t *testing.T, took progress.Takeover) {
	t.Helper()
	messages, err := a.messages(contract.MessagesRequest{})
	require.NoError(t, err)
	require.Equal(t, messages.Base, took.FirstMessage)
	steps, err := a.steps(contract.StepsRequest{Number: took.Number})
	require.NoError(t, err)
	if len(steps.Steps) > 0 {
		require.Equal(t, steps.First, took.FirstStep)
	}
	events, err := a.events(contract.EventsRequest{Number: took.Number})
	require.NoError(t, err)
	if len(events.Events) > 0 {
		require.EqualValues(t, events.First, took.FirstEvent)
	}
}

// stopsOf are the requests to stop of the newest execution.
func (a askable) stopsOf(t *testing.T, number int) []domain.StopSignal {
	t.Helper()
	view, err := a.state(contract.StateRequest{})
	require.NoError(t, err)
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

// replayedQueries replays a history, and returns what the workflow can be asked then.
func replayedQueries(t *testing.T, history *historypb.History) *askable {
	t.Helper()
	asked := &askable{}
	compress := codec.New()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: compress.DataConverter(), Interceptors: []interceptor.WorkerInterceptor{&listener{asked: asked}},
		DisableDeadlockDetection: true, // a busy machine is none
	})
	require.NoError(t, err)
	hooks, err := hook.NewSet(kept.HistoryHooks()...)
	require.NoError(t, err)
	workflows.Register(r, workflows.Options{Hooks: hooks})
	require.NoError(t, r.ReplayWorkflowHistory(quiet(), history))
	return asked
}

// A listener keeps the handlers of a workflow's queries.
type listener struct {
	interceptor.WorkerInterceptorBase
	asked *askable
}

func (l *listener) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	in := &listening{asked: l.asked}
	in.Next = next
	return in
}

type listening struct {
	interceptor.WorkflowInboundInterceptorBase
	asked *askable
}

func (l *listening) Init(next interceptor.WorkflowOutboundInterceptor) error {
	out := &answering{asked: l.asked}
	out.Next = next
	return l.Next.Init(out)
}

type answering struct {
	interceptor.WorkflowOutboundInterceptorBase
	asked *askable
}

func (a *answering) SetQueryHandler(ctx workflow.Context, query string, handler any) error {
	switch handle := handler.(type) {
	case func(contract.StepsRequest) (contract.StepsPage, error):
		a.asked.steps = handle
	case func(contract.StateRequest) (contract.StateView, error):
		a.asked.state = handle
	case func(contract.EventsRequest) (contract.EventsPage, error):
		a.asked.events = handle
	case func(contract.MessagesRequest) (contract.MessagesPage, error):
		a.asked.messages = handle
	}
	return a.Next.SetQueryHandler(ctx, query, handler)
}
