package whole_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
