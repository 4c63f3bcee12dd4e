package client

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/durationpb"

	"everstep/activities/build"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/testsuite/stores"
)

// replayable is a run whose first workflow task is completed, by a worker of a build, and has asked for the worker's tools.
// Two signals came since that no workflow of ours knows.
func replayable(by string) *fakeRun {
	r := newRun("run-1", nil)
	began := r.events[0].GetWorkflowExecutionStartedEventAttributes()
	began.WorkflowType, began.TaskQueue = &commonpb.WorkflowType{Name: string(contract.Execute)}, &taskqueuepb.TaskQueue{Name: "of nora"}
	began.FirstExecutionRunId, began.OriginalExecutionRunId, began.WorkflowTaskTimeout = r.id, r.id, durationpb.New(10*time.Second)
	began.Input = payloads(contract.SessionInput{AgentID: nora.id, Name: nora.name, Prompt: "go", Definition: domain.Definition{Model: domain.LLMConfig{Provider: "scripted", Model: "/x"}}})
	r.tasks(by)
	r.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED, Attributes: &historypb.HistoryEvent_WorkflowPropertiesModifiedEventAttributes{
		WorkflowPropertiesModifiedEventAttributes: &historypb.WorkflowPropertiesModifiedEventAttributes{WorkflowTaskCompletedEventId: 4, UpsertedMemo: &commonpb.Memo{}},
	}})
	r.schedule(string(contract.ListTools), contract.ResolveRequest{})
	asked := r.events[len(r.events)-1].GetActivityTaskScheduledEventAttributes()
	asked.TaskQueue, asked.WorkflowTaskCompletedEventId = &taskqueuepb.TaskQueue{Name: "of nora"}, 4
	for range 2 {
		r.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
			WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{SignalName: "unknown"},
		}})
	}
	return r
}

// takes has a worker of a build take a workflow task.
func (r *fakeRun) takes(by string) (scheduled, started int64) {
	scheduled = r.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED})
	return scheduled, r.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, Attributes: &historypb.HistoryEvent_WorkflowTaskStartedEventAttributes{
		WorkflowTaskStartedEventAttributes: &historypb.WorkflowTaskStartedEventAttributes{
			ScheduledEventId: scheduled, WorkerVersion: &commonpb.WorkerVersionStamp{BuildId: by}, //nolint:staticcheck // the newer field is for versioned deployments
		},
	}})
}

// tasks has a worker of a build complete a workflow task.
func (r *fakeRun) tasks(by string) {
	scheduled, started := r.takes(by)
	r.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, Attributes: &historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes{
		WorkflowTaskCompletedEventAttributes: &historypb.WorkflowTaskCompletedEventAttributes{
			ScheduledEventId: scheduled, StartedEventId: started, SdkMetadata: &sdkpb.WorkflowTaskCompletedMetadata{LangUsedFlags: []uint32{3, 4}},
		},
	}})
}

// TestAccountWithoutAnybodyWhoTells: where the replay has failed too, a worker is waited for only where one may be there.
func TestAccountWithoutAnybodyWhoTells(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		polled      func() time.Time
		atLeast, in time.Duration
	}{
		"no worker is known":            {nil, time.Second, 2 * time.Second},
		"one was there ten minutes ago": {func() time.Time { return time.Now().Add(-10 * time.Minute) }, time.Second, 2 * time.Second},
		"one may be there":              {time.Now, readTimeout, 2 * busyTimeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(newRun("run-1", nil)) // its type is no agent's
			f.polled = test.polled
			began := time.Now()
			_, err := f.client().Account(t.Context(), nora.name)
			require.ErrorContains(t, err, "no worker answers, and the workflow is none of Everstep's", name)
			require.GreaterOrEqual(t, time.Since(began), test.atLeast, name)
			require.Less(t, time.Since(began), test.in, name)
		})
	}
}

// TestAccountOfAHistoryInPages, of which the server may leave something out: that is told, and nothing is cut silently.
func TestAccountOfAHistoryInPages(t *testing.T) {
	t.Parallel()
	type page = workflowservice.GetWorkflowExecutionHistoryResponse
	cut := func(p *page, events int) {
		p.History.Events = p.History.Events[:min(events, len(p.History.Events))]
	}
	for name, test := range map[string]struct {
		paged func(from int, p *page) error
		says  string
	}{
		"whole pages": {func(from int, p *page) error {
			cut(p, 3)
			p.NextPageToken = []byte{byte(min(from+3, 8))}
			return nil
		}, ""},
		"a token too few": {func(_ int, p *page) error {
			cut(p, 7)
			p.NextPageToken = nil
			return nil
		}, "no worker answers, and the history is not whole at event 8: the server has 8 events of the run, and gave those up to 7"},
		"half a page": {func(_ int, p *page) error {
			cut(p, 7)
			return nil
		}, "no worker answers, and the history is not whole at event 8: the server has 8 events of the run, and gave those up to 7"},
		"half a page in the middle": {func(from int, p *page) error {
			if from == 0 {
				cut(p, 2)
				p.NextPageToken = []byte{4}
			}
			return nil
		}, "no worker answers, and the history is not whole at event 3: event 5 stands in the place of event 3"},
		"no page": {func(_ int, p *page) error {
			cut(p, 0)
			return nil
		}, "no worker answers, and the history is not whole"},
		"an error on the second page": {func(from int, p *page) error {
			cut(p, 7)
			p.NextPageToken = []byte{7}
			if from > 0 {
				return serviceerror.NewDataLoss("the disk is gone")
			}
			return nil
		}, "no worker answers, and the history cannot be read: the disk is gone"},
		"no answer to the second page": {func(from int, p *page) error {
			cut(p, 7)
			p.NextPageToken = []byte{7}
			if from > 0 {
				return errDown
			}
			return nil
		}, "no worker answers, and the server does not give the history: the fake server is down"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(replayable(""))
			f.paged = test.paged
			read, err := f.client().Account(t.Context(), nora.name)
			if test.says != "" {
				require.ErrorContains(t, err, test.says, name)
				return
			}
			require.NoError(t, err, name)
			require.Equal(t, contract.FromHistory, read.Server.Source)
			require.Equal(t, 2, read.Server.Untaken)
		})
	}
}

// TestAccountOfAnEarlierRunThatIsCutOff: it has ended, so its history ends with an end.
func TestAccountOfAnEarlierRunThatIsCutOff(t *testing.T) {
	t.Parallel()
	first, second := replayable(""), newRun("run-2", inMidst(1, 2)).continues("run-1")
	r := accountReader{client: newFake(first, second).client(), snapshot: snapshot{agent: nora}}
	require.ErrorContains(t, r.run(t.Context(), "run-1").err, "the history is not whole at event 9: the run has ended, and its end is not among what the server gave")
}

// A keyless is a converter that lacks the key of all payloads.
type keyless struct{ converter.DataConverter }

func (keyless) FromPayload(*commonpb.Payload, any) error { return errors.New("no key k1") }

func (keyless) FromPayloads(*commonpb.Payloads, ...any) error { return errors.New("no key k1") }

func TestAccountOfAHistoryThatCannotBeDecrypted(t *testing.T) {
	t.Parallel()
	f := newFake(replayable(""))
	_, err := New(f, Config{Converter: keyless{converter.GetDefaultDataConverter()}}).Account(t.Context(), nora.name, account.Steps)
	require.EqualError(t, err, "no worker answers, and the history cannot be decoded: no key k1")
}

// failsTasks has a worker of a build fail a workflow task, as the server tells it.
func (r *fakeRun) failsTasks(attempts int32, a *historypb.WorkflowTaskFailedEventAttributes, by string) {
	scheduled, _ := r.takes(by)
	r.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{WorkflowTaskFailedEventAttributes: a}})
	r.task = &workflowpb.PendingWorkflowTaskInfo{Attempt: attempts, OriginalScheduledTime: at(int(scheduled))}
}

// TestAccountTellsWhatOnlyTheServerKnows: a workflow task that fails, a reset, and that another build has written the history.
func TestAccountTellsWhatOnlyTheServerKnows(t *testing.T) {
	t.Parallel()
	read := func(run *fakeRun) *account.Server {
		t.Helper()
		all, err := newFake(run).client().Account(t.Context(), nora.name)
		require.NoError(t, err)
		return all.Server
	}
	require.Equal(t, &account.Server{Source: contract.FromHistory, Untaken: 2, Pending: []account.Pending{}}, read(replayable(build.ID())))

	run := replayable(build.ID())
	run.failsTasks(4, &historypb.WorkflowTaskFailedEventAttributes{Identity: "7@box", Failure: failure("no hook guard")}, "v9")
	require.Equal(t, &account.FailingTask{Attempt: 4, Since: at(9).AsTime(), Worker: "7@box", Build: "v9", Failure: "no hook guard"}, read(run).FailingTask)
	run.tasks(build.ID())
	run.task.Attempt = 2
	require.Equal(t, &account.FailingTask{Attempt: 2, Since: at(9).AsTime()}, read(run).FailingTask, "a task has gone well since")

	run = replayable(build.ID())
	run.failsTasks(1, &historypb.WorkflowTaskFailedEventAttributes{Cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW, BaseRunId: "run-0"}, "")
	run.reset = at(60)
	require.Equal(t, &account.Reset{RunID: "run-0", Event: 11, At: at(11).AsTime()}, read(run).Reset)

	require.Equal(t, []string{"v9"}, read(replayable("v9")).OtherBuilds)
	require.Empty(t, read(replayable("")).OtherBuilds)
	f := newFake(replayable("v9"))
	f.query = answering(account.Page{Account: account.Account{Head: &account.Head{}}})
	all, err := f.client().Account(t.Context(), nora.name)
	require.NoError(t, err)
	require.Empty(t, all.Server.OtherBuilds, "a worker has answered, which carries it on")
}

// TestAccountKeepsToTheServer where a record says otherwise, as of an execution that an operator's reset has taken back: records
// tell what came before all that the server has, and no more.
func TestAccountKeepsToTheServer(t *testing.T) {
	t.Parallel()
	records := stores.Sample(t, nora.name, 3)
	store, _ := storeOf(t, records...)
	own, err := records[1].Account()
	require.NoError(t, err)
	own.Executions[0].Ended = &contract.End{Answer: "of the server"}
	own.Head = &account.Head{AgentID: nora.id, Newest: &own.Executions[0]}
	from := own.Executions[0].MessagesFrom
	second := newRun("run-2", inMidst(1, 1)).continues("run-1")
	second.first = "first-run"
	f := newFake(newRun("run-1", nil), second)
	f.deleted["run-1"] = true
	f.query = answering(account.Page{Account: own, PageEnd: account.PageEnd{Held: account.Held{
		Run: account.Run{ID: "run-2", Previous: "run-1"}, Messages: from,
		Executions: []account.HeldExecution{{Number: 2, ID: records[1].ExecutionID, Step: 1, Event: 1, Message: from}},
	}}})
	all, err := New(f, Config{Records: store}).Account(t.Context(), nora.name, account.Executions, account.Steps, account.Events, account.Messages)
	require.NoError(t, err)
	require.Empty(t, all.Missing)
	require.Equal(t, []string{"1 Nothing.", "2 of the server"}, each(all.Executions, func(e account.Execution) string { return fmt.Sprint(e.Number, " ", e.Ended.Answer) }))
	require.Equal(t, []string{"1", "2"}, each(all.Steps, func(s account.Step) string { return fmt.Sprint(s.Execution) }))
	require.Equal(t, []string{"0", "1", "2", "3"}, each(all.Messages, func(e domain.Entry) string { return fmt.Sprint(e.Index) }))
	for _, event := range all.Events {
		require.NotEqual(t, records[2].ExecutionID, event.ExecutionID)
	}
}

func each[T any](list []T, name func(T) string) (names []string) {
	for _, one := range list {
		names = append(names, name(one))
	}
	return names
}
