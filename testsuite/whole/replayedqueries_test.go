package whole_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/workflow"

	"everstep/activities/tool"
	"everstep/domain"
	agentaccount "everstep/domain/account"
	"everstep/domain/contract"
	agents "everstep/starter/client"
	"everstep/worker/host"
	"everstep/worker/host/codec"
	"everstep/workflows/replay"
)

// wholePage is all that a run tells.
var wholePage = append([]agentaccount.Part{agentaccount.HeadOf}, allParts...)

// replayedAccount asks a workflow that was replayed along these events for its account, and what of it the run holds.
func replayedAccount(t *testing.T, events []*historypb.HistoryEvent, want ...agentaccount.Part) (all agentaccount.Account, held agentaccount.Held, asked int, err error) {
	t.Helper()
	started := events[0].GetWorkflowExecutionStartedEventAttributes()
	execution := workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()}
	_, err = replay.Ask(t.Context(), events, execution, replay.Options{DataConverter: codec.New().DataConverter()}, func(q *replay.Queries) (err error) {
		asked++
		all, held, err = agentaccount.ReadRun(agentaccount.Request{Want: want}, func(request agentaccount.Request) (agentaccount.Page, error) {
			return replay.Query(q, agentaccount.Query, request)
		})
		return err
	})
	return all, held, asked, err
}

// workersAccount asks the worker that is up.
func (s *stack) workersAccount(t *testing.T, workflowID, runID string, want ...agentaccount.Part) agentaccount.Account {
	t.Helper()
	all, _, err := agentaccount.ReadRun(agentaccount.Request{Want: want}, func(request agentaccount.Request) (page agentaccount.Page, err error) {
		value, err := s.temporal.QueryWorkflow(within(t), workflowID, runID, string(agentaccount.Query), request)
		if err == nil {
			err = value.Get(&page)
		}
		return page, err
	})
	require.NoError(t, err)
	return all
}

// TestReplayAnswersAsTheWorkerDoes of agents that have ended, of a session that is idle, and of one that waits for a person.
func TestReplayAnswersAsTheWorkerDoes(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	const script = "turns: [{text: looking, tool_calls: [{name: echo, arguments: {text: a}}, {name: nothing, arguments: {}}]}, {text: done}]"
	same := func(begun agents.Execution) {
		t.Helper()
		var events []*historypb.HistoryEvent
		before, after := "", encoded(t, s.workersAccount(t, begun.WorkflowID, begun.RunID, wholePage...))
		for before != after { // it goes on meanwhile
			before, events = after, s.historyNow(t, begun.WorkflowID, begun.RunID).Events
			after = encoded(t, s.workersAccount(t, begun.WorkflowID, begun.RunID, wholePage...))
		}
		replayed, _, asked, err := replayedAccount(t, events, wholePage...)
		require.NoError(t, err)
		require.Equal(t, 1, asked)
		require.JSONEq(t, after, encoded(t, replayed))
	}
	begun := s.begin(t, script, "echo")
	s.ended(t, begun)
	same(begun)
	idle := s.starts(t, agents.Start{ID: s.named("idle"), Prompt: "go", Definition: scripted(writeScript(t, script), "echo")})
	s.ended(t, idle)
	same(idle)
	definition := scripted(writeScript(t, script), "echo")
	definition.Approvals = domain.ApprovalsOf("ask")
	waits := s.starts(t, agents.Start{ID: s.named("waits"), Prompt: "go", Definition: definition})
	require.Eventually(t, func() bool {
		view, err := s.agents.Status(within(t), waits.ID)
		return err == nil && len(view.Waits) == 1
	}, patience, 20*time.Millisecond)
	same(waits)
	s.stops(t, waits.ID, agents.StopOptions{Mode: contract.StopNow})
	s.ended(t, waits)
}

// TestReplayedQueriesOfCutHistories cuts a history of each kind after each of its events. What is answered is as the last
// completed task has left it: the same until the next is completed, and what is told later begins with it.
func TestReplayedQueriesOfCutHistories(t *testing.T) {
	t.Parallel()
	for name, history := range freshHistories(t) {
		events := history.Events
		if events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName() != string(contract.Execute) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end, _, _, err := replayedAccount(t, events, wholePage...)
			require.NoError(t, err)
			task, of := 0, 0 // of which task the answer before was
			var before string
			for i, event := range events {
				if event.EventType == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
					task = i + 1
				}
				a, held, asked, err := replayedAccount(t, events[:i+1], wholePage...)
				if task > 0 && i+1 < len(events) && byTask(events[i+1]) { // the server writes a task and what it does at once
					require.ErrorIs(t, err, replay.ErrDiffers)
					continue
				}
				require.NoError(t, err, "cut after event %d", i+1)
				require.Equal(t, 1, asked)
				if task == 0 { // what it would begin with, at the time of its start
					continue
				}
				if task == of {
					require.Equal(t, before, encoded(t, a))
				}
				of, before = task, encoded(t, a)
				require.Equal(t, end.Events[:len(a.Events)], a.Events)
				require.Equal(t, end.Messages[:len(a.Messages)], a.Messages)
				if a.Head.Newest == nil {
					require.Empty(t, a.Executions)
					continue
				}
				completed := held.Executions[len(held.Executions)-1].Step - 1
				for _, e := range a.Events {
					if e.ExecutionID == a.Head.Newest.ExecutionID && e.Type == domain.EventStepCompleted {
						completed++
					}
				}
				require.Equal(t, completed, a.Head.Newest.Steps)
			}
		})
	}
}

// byTask reports whether an event is what a workflow task has done, in these histories.
func byTask(event *historypb.HistoryEvent) bool {
	switch event.EventType {
	case enumspb.EVENT_TYPE_MARKER_RECORDED, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_TIMER_STARTED, enumspb.EVENT_TYPE_TIMER_CANCELED,
		enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED, enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return true
	default:
		return false
	}
}
