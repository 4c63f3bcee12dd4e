package whole_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/workflow"

	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/testsuite"
	"everstep/testsuite/internal/accountcheck"
	"everstep/worker/host"
	"everstep/worker/host/codec"
	"everstep/workflows/replay"
)

// replaysAtItsEnd replays the history of every run on the stack's queue once the test is over. That is how determinism is
// proved: whatever a test does on a server, its workflows would do again.
func (s *stack) replaysAtItsEnd(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() || t.Skipped() || s.irreplayable != "" {
			return
		}
		temporal, err := host.Dial(context.Background(), host.Connection{Address: s.address}) // the test may have closed its own
		require.NoError(t, err)
		defer temporal.Close()
		s.temporal = temporal
		runs := s.runsOnQueue(t)
		for _, run := range runs {
			history := s.history(t, run.WorkflowID, run.RunID)
			if !t.Failed() && len(history.GetEvents()) > 0 {
				testsuite.Replay(t, history)
				s.answersAfterItsEnd(t, run, history)
				s.comparesAccounts(t, run.RunID, history.GetEvents())
			}
			if t.Failed() {
				t.Logf("it is the history of %s, run %s", run.WorkflowID, run.RunID)
				return
			}
		}
		if s.accounts != nil && len(runs) > 0 {
			require.Positive(t, s.compared, "no account was compared")
		}
	})
}

// comparesAccounts holds what the worker had of a run's account after its workflow tasks against a replay of each.
func (s *stack) comparesAccounts(t testing.TB, runID string, events []*historypb.HistoryEvent) {
	t.Helper()
	if s.accounts == nil {
		return
	}
	notes, err := s.accounts.Notes()
	require.NoError(t, err)
	most := 0
	if testing.Short() {
		most = 30
	}
	compared, differ, err := accountcheck.Compare(context.Background(), events, notes[runID], most,
		replay.Options{DataConverter: codec.New().DataConverter()}) // the test's own context has ended
	require.NoError(t, err)
	require.Empty(t, differ)
	s.compared += compared
}

// answersAfterItsEnd asks the queries of a run without a worker.
func (s *stack) answersAfterItsEnd(t testing.TB, run client.Execution, history *historypb.History) {
	t.Helper()
	asked := 0
	_, err := replay.Ask(context.Background(), history.Events, workflow.Execution{ID: run.WorkflowID, RunID: run.RunID},
		replay.Options{DataConverter: codec.New().DataConverter()}, func(*replay.Queries) error { asked++; return nil })
	require.NoError(t, err)
	require.Equal(t, 1, asked)
}

// runsOnQueue are those that the server lists, and the ones that the test has waited for: a list may come late.
func (s *stack) runsOnQueue(t testing.TB) []client.Execution {
	t.Helper()
	runs := slices.Clone(s.ran)
	var next []byte
	for {
		page, err := s.temporal.ListWorkflow(within(t), &workflowservice.ListWorkflowExecutionsRequest{
			Query: "TaskQueue = '" + s.queue + "'", NextPageToken: next,
		})
		require.NoError(t, err)
		for _, found := range page.GetExecutions() {
			if name := found.GetType().GetName(); name == string(contract.Execute) || name == string(contract.Scheduled) {
				runs = append(runs, client.Execution{WorkflowID: found.GetExecution().GetWorkflowId(), RunID: found.GetExecution().GetRunId()})
			}
		}
		if next = page.GetNextPageToken(); len(next) == 0 {
			break
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(runs, func(r client.Execution) bool {
		twice := seen[r.RunID] || r.RunID == ""
		seen[r.RunID] = true
		return twice
	})
}

// history is a run's, empty where the test has deleted it. Of one that is open it goes as far as a worker would get it.
func (s *stack) history(t testing.TB, workflowID, runID string) *historypb.History {
	t.Helper()
	history := s.historyNow(t, workflowID, runID)
	if len(history.Events) == 0 || ends(history.Events[len(history.Events)-1]) {
		return history
	}
	return openHistory(history)
}

// historyNow is all that there is of a run's.
func (s *stack) historyNow(t testing.TB, workflowID, runID string) *historypb.History {
	t.Helper()
	history := &historypb.History{}
	events := s.temporal.GetWorkflowHistory(within(t), workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if _, deleted := errors.AsType[*serviceerror.NotFound](err); deleted {
			return history
		}
		require.NoError(t, err)
		history.Events = append(history.Events, event)
	}
	return history
}

func ends(event *historypb.HistoryEvent) bool {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return true
	}
	return false
}

// openHistory is a history up to its last workflow task.
func openHistory(whole *historypb.History) *historypb.History {
	for i, event := range slices.Backward(whole.Events) {
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED {
			return &historypb.History{Events: whole.Events[:i+1]}
		}
	}
	return &historypb.History{}
}
