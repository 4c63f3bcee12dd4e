package whole_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/activities/tool"
	"everstep/domain"
	agentaccount "everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

var allParts = []agentaccount.Part{
	agentaccount.Executions, agentaccount.Steps, agentaccount.Events, agentaccount.Messages, agentaccount.State, agentaccount.Definition,
}

// wholeAccount reads an account in which nothing may be missing or there twice.
func (s *stack) wholeAccount(t *testing.T, id string) agentaccount.Account {
	t.Helper()
	read, err := s.agents.Account(within(t), id, allParts...)
	require.NoError(t, err)
	require.Empty(t, read.Missing)
	requireComplete(t, read)
	return read
}

// idleAccount waits until nothing goes on in a session that changes its account.
func (s *stack) idleAccount(t *testing.T, id string) agentaccount.Account {
	t.Helper()
	require.Eventually(t, func() bool {
		read, err := s.agents.Account(within(t), id)
		return err == nil && read.Head.Doing == "idle" && read.Head.Unrecorded == "" && len(read.Server.Pending) == 0
	}, patience, 50*time.Millisecond)
	return s.wholeAccount(t, id)
}

// requireComplete requires of an account all that there ever was, in its order.
func requireComplete(t *testing.T, read agentaccount.Account) {
	t.Helper()
	steps, events := map[int]int{}, map[domain.ExecutionID]int64{}
	for _, step := range read.Steps {
		steps[step.Execution]++
		require.Equal(t, steps[step.Execution], step.Number, "of execution %d", step.Execution)
	}
	for _, event := range read.Events {
		head := event.EventHeader
		events[head.ExecutionID]++
		require.Equal(t, events[head.ExecutionID], head.Sequence, "of execution %s", head.ExecutionID)
	}
	require.Len(t, read.Executions, read.Head.Newest.Number)
	for i, execution := range read.Executions {
		require.Equal(t, i+1, execution.Number)
		require.Equal(t, execution.Steps, steps[i+1], "steps of execution %d", i+1)
		require.Greater(t, events[execution.ExecutionID], int64(1), "events of execution %d", i+1)
	}
	require.Len(t, read.Messages, read.Head.Position.Length)
	for i, entry := range read.Messages {
		require.Equal(t, i, entry.Index)
	}
}

// talks has a session of so many executions, each with a call. After each its account is whole.
func (s *stack) talks(t *testing.T, id string, executions int) {
	t.Helper()
	var turns strings.Builder
	turns.WriteString("turns:\n")
	for n := range executions {
		fmt.Fprintf(&turns, "  - {text: looking, tool_calls: [{name: echo, arguments: {text: 'call %d'}}]}\n  - {text: 'answer %d'}\n", n, n)
	}
	for n := range executions {
		if n == 0 {
			s.starts(t, client.Start{ID: id, Prompt: "go", Definition: scripted(writeScript(t, turns.String()), "echo")})
		} else {
			s.sent(t, id, client.SendOptions{Prompt: fmt.Sprintf("go on %d", n)})
		}
		require.Equal(t, fmt.Sprintf("answer %d", n), s.result(t, id, n+1).Answer)
		s.wholeAccount(t, id)
	}
}

// TestAccountOverRuns of a session that continues as new, also while it is idle: then its newest run has none of the events
// of its newest execution. It is the same with and without a worker, and with events that no worker has taken. What a
// deleted run had is missing by name.
func TestAccountOverRuns(t *testing.T) {
	t.Parallel()
	s := overRuns(t)
	id := s.named("talk")
	s.talks(t, id, 9)
	withWorker := s.idleAccount(t, id)
	require.Greater(t, withWorker.Head.Run.Number, 2)
	s.worker.Stop()
	require.JSONEq(t, known(t, withWorker), known(t, s.wholeAccount(t, id)))
	require.NoError(t, s.temporal.CancelWorkflow(within(t), domain.WorkflowID(id), ""))
	read := s.wholeAccount(t, id)
	require.JSONEq(t, known(t, withWorker), known(t, read), "what no worker has taken changes nothing")
	require.Equal(t, contract.FromHistory, read.Server.Source)
	require.Positive(t, read.Server.Untaken)

	s.irreplayable = "a run is deleted"
	s.forgetsRun(t, id, withWorker.Head.Run.Previous)
	var err error
	read, err = s.agents.Account(within(t), id, allParts...)
	require.NoError(t, err)
	missing := map[agentaccount.Part]string{}
	for _, m := range read.Missing {
		missing[m.Part] += m.String() + "; "
	}
	first := read.Executions[0].Number
	require.Greater(t, first, 1)
	require.Contains(t, missing[agentaccount.Executions], fmt.Sprintf("executions 1 to %d", first-1))
	require.Contains(t, missing[agentaccount.Messages], fmt.Sprintf("messages 0 to %d", read.Head.Position.Base-1))
	for _, e := range read.Executions {
		require.Equal(t, e.Steps, countSteps(read, e.Number)+countMissing(read, agentaccount.Steps, e.Number), "execution %d", e.Number)
		seen, last := 0, 0
		for _, event := range read.Events {
			if head := event.EventHeader; head.ExecutionID == e.ExecutionID {
				seen, last = seen+1, int(head.Sequence)
			}
		}
		missing := countMissing(read, agentaccount.Events, e.Number)
		require.Equal(t, max(last, missing), seen+missing, "execution %d", e.Number)
	}
	require.Equal(t, withWorker.Head.Newest, read.Head.Newest)
}

// known is what an account has of its agent itself, as JSON.
func known(t *testing.T, read agentaccount.Account) string {
	t.Helper()
	read.Server = nil
	return encoded(t, read)
}

func countSteps(read agentaccount.Account, execution int) (n int) {
	for _, step := range read.Steps {
		if step.Execution == execution {
			n++
		}
	}
	return n
}

func countMissing(read agentaccount.Account, part agentaccount.Part, execution int) (n int) {
	for _, m := range read.Missing {
		if m.Part == part && m.Execution == execution {
			n += m.To - m.From + 1
		}
	}
	return n
}

// TestAccountOfAReset to a task of the second of three executions: it has nothing of what was taken back, and is the same with
// and without a worker.
func TestAccountOfAReset(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	s.irreplayable = "the run that a reset begins has another id than its history says"
	id := s.named("reset")
	s.talks(t, id, 3)
	before := s.wholeAccount(t, id)
	require.Contains(t, encoded(t, before), "go on 2")
	require.Nil(t, before.Server.Reset)
	run := before.Head.Run.ID
	var tasks []int64
	task := int64(0) // the third last before the third execution was asked for
	for _, event := range s.historyNow(t, domain.WorkflowID(id), run).Events {
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			tasks = append(tasks, event.GetEventId())
		}
		if event.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput().GetName() == string(contract.UpdateSend) {
			task = tasks[len(tasks)-3]
		}
	}
	_, err := s.temporal.ResetWorkflowExecution(within(t), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: domain.WorkflowID(id), RunId: run}, RequestId: uuid.NewString(),
		WorkflowTaskFinishEventId: task, ResetReapplyExcludeTypes: []enumspb.ResetReapplyExcludeType{enumspb.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL, enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE},
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		read, err := s.agents.Account(within(t), id)
		return err == nil && read.Head.Run.ID != run && read.Head.Newest.Ended != nil
	}, patience, 50*time.Millisecond)
	withWorker := s.idleAccount(t, id)
	require.Equal(t, "answer 1", withWorker.Executions[len(withWorker.Executions)-1].Ended.Answer)
	require.NotContains(t, encoded(t, withWorker), "go on 2")
	require.Equal(t, &agentaccount.Reset{RunID: run, Event: task, At: withWorker.Server.Reset.At}, withWorker.Server.Reset)
	s.worker.Stop()
	without := s.wholeAccount(t, id)
	require.JSONEq(t, known(t, withWorker), known(t, without))
	require.Equal(t, withWorker.Server.Reset, without.Server.Reset)
}
