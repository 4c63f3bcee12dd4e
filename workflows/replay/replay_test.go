package replay_test

import (
	"context"
	"errors"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/workflows/replay"
)

const id = "notes"

var notes = workflow.Execution{ID: domain.WorkflowID(id), RunID: "run"}

type history = []*historypb.HistoryEvent

// begun is the history of an agent whose first workflow task is completed: it has asked for the tools of the worker.
func begun(t require.TestingT) history {
	agent, err := domain.AgentIDOf(id)
	require.NoError(t, err)
	input, err := converter.GetDefaultDataConverter().ToPayloads(contract.SessionInput{
		AgentID: agent, Name: id, Prompt: "hello", Definition: domain.Definition{Model: domain.LLMConfig{Provider: "scripted", Model: "/x"}},
	})
	require.NoError(t, err)
	events := history{
		{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
				WorkflowType: &commonpb.WorkflowType{Name: string(contract.Execute)}, TaskQueue: &taskqueuepb.TaskQueue{Name: "q"}, Input: input,
				FirstExecutionRunId: "run", OriginalExecutionRunId: "run", WorkflowTaskTimeout: durationpb.New(10 * time.Second),
			}}},
		{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED},
		{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, Attributes: &historypb.HistoryEvent_WorkflowTaskStartedEventAttributes{
			WorkflowTaskStartedEventAttributes: &historypb.WorkflowTaskStartedEventAttributes{ScheduledEventId: 2},
		}},
		{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, Attributes: &historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes{
			WorkflowTaskCompletedEventAttributes: &historypb.WorkflowTaskCompletedEventAttributes{
				ScheduledEventId: 2, StartedEventId: 3, SdkMetadata: &sdkpb.WorkflowTaskCompletedMetadata{LangUsedFlags: []uint32{3, 4}},
			},
		}},
		{EventType: enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED, Attributes: &historypb.HistoryEvent_WorkflowPropertiesModifiedEventAttributes{
			WorkflowPropertiesModifiedEventAttributes: &historypb.WorkflowPropertiesModifiedEventAttributes{WorkflowTaskCompletedEventId: 4, UpsertedMemo: &commonpb.Memo{}},
		}},
		{EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
				ActivityId: "6", ActivityType: &commonpb.ActivityType{Name: string(contract.ListTools)}, TaskQueue: &taskqueuepb.TaskQueue{Name: "q"}, WorkflowTaskCompletedEventId: 4,
			},
		}},
	}
	return numbered(events)
}

// numbered gives events their numbers and a time.
func numbered(events history) history {
	for i, event := range events {
		event.EventId, event.EventTime = int64(i+1), timestamppb.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	}
	return events
}

func signalled(name string) *historypb.HistoryEvent {
	return &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
		WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{SignalName: name},
	}}
}

// status asks for the status, and fails where ask was called more than once.
func status(t require.TestingT, events history, options replay.Options) (view account.Status, waiting history, err error) {
	asked := 0
	waiting, err = replay.Ask(context.Background(), events, notes, options, func(q *replay.Queries) (err error) {
		asked++
		page, err := replay.Query(q, account.Query, account.Request{Want: []account.Part{account.HeadOf}})
		if err == nil {
			view = account.StatusOf(*page.Head)
		}
		return err
	})
	require.LessOrEqual(t, asked, 1)
	if err == nil {
		require.Equal(t, 1, asked)
	}
	return view, waiting, err
}

// TestAskOfAnOpenRun: it is asked as its last completed task has left it, and what came since waits for a worker. Neither a
// request to cancel it, nor a task in progress, nor one that failed changes that.
func TestAskOfAnOpenRun(t *testing.T) {
	t.Parallel()
	want, waiting, err := status(t, begun(t), replay.Options{})
	require.NoError(t, err)
	require.Equal(t, "asking a worker for its tools", want.Doing)
	require.Equal(t, id, want.Name)
	require.Empty(t, waiting)
	events := append(begun(t), signalled("one"), &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED},
		&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED}, &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED},
		&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED}, signalled("two"), &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED})
	view, waiting, err := status(t, numbered(events), replay.Options{})
	require.NoError(t, err)
	require.Equal(t, want, view)
	require.Len(t, waiting, 2)
	require.Equal(t, "two", waiting[1].GetWorkflowExecutionSignaledEventAttributes().GetSignalName())
}

// TestAskOfARunThatNoWorkerHasBegun: what its input tells is there, and its signals wait.
func TestAskOfARunThatNoWorkerHasBegun(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3} {
		view, waiting, err := status(t, append(begun(t)[:n:n], numbered(append(begun(t)[:n:n], signalled("one")))[n:]...), replay.Options{})
		require.NoError(t, err)
		require.Equal(t, id, view.Name)
		require.Equal(t, "scripted//x", view.Configuration.Model)
		require.True(t, view.Open)
		require.Len(t, waiting, 1)
	}
}

// TestAskLeavesNothingBehind: when it returns, all coroutines of the workflow have ended.
func TestAskLeavesNothingBehind(t *testing.T) { //nolint:paralleltest // it looks at all goroutines
	for range 20 {
		_, _, err := status(t, begun(t), replay.Options{})
		require.NoError(t, err)
		var running strings.Builder
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&running, 1))
		require.NotContains(t, running.String(), "everstep/workflows.")
	}
}

func TestAskReportsWhatItsCallerReports(t *testing.T) {
	t.Parallel()
	own := errors.New("enough")
	_, err := replay.Ask(t.Context(), begun(t), notes, replay.Options{}, func(*replay.Queries) error { return own })
	require.ErrorIs(t, err, own)
	_, err = replay.Ask(t.Context(), begun(t), notes, replay.Options{}, func(*replay.Queries) error { panic("a fault") })
	require.EqualError(t, err, "asking the replayed workflow panicked: a fault")
	_, err = replay.Ask(t.Context(), begun(t), notes, replay.Options{}, func(q *replay.Queries) error {
		_, err := replay.Query(q, contract.Query[int, int]("nothing"), 1)
		return err
	})
	require.EqualError(t, err, "query nothing: the workflow has no handler for it")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(own)
	_, err = replay.Ask(ended, begun(t), notes, replay.Options{}, func(*replay.Queries) error { return nil })
	require.ErrorIs(t, err, own)
}

// sealed is a converter without the key.
type sealed struct{ converter.DataConverter }

func (sealed) FromPayload(*commonpb.Payload, any) error      { return errors.New("no key k1") }
func (sealed) FromPayloads(*commonpb.Payloads, ...any) error { return errors.New("no key k1") }

// TestAskSaysWhyItCannot names the kind of each fault, and where it is.
func TestAskSaysWhyItCannot(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		events  func(events history) history
		options replay.Options
		kind    error
		says    string
	}{
		"nothing": {func(history) history { return nil }, replay.Options{}, replay.ErrIncomplete,
			"the history is not whole: it has no events"},
		"a start that a worker would refuse": {func(e history) history { return e[:2] }, replay.Options{}, replay.ErrNotBegun,
			"no worker has completed a workflow task of this run yet"},
		"its beginning is missing": {func(e history) history { return e[1:] }, replay.Options{}, replay.ErrIncomplete,
			"the history is not whole at event 1: event 2 stands in the place of event 1"},
		"a hole": {func(e history) history { return append(e[:4], e[5]) }, replay.Options{}, replay.ErrIncomplete,
			"the history is not whole at event 5: event 6 stands in the place of event 5"},
		"a task that was never started": {func(e history) history {
			e[2].EventType = enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED
			return e
		}, replay.Options{}, replay.ErrIncomplete, "the history is not whole at event 4: the workflow task was completed and never started"},
		"another type": {func(e history) history {
			e[0].GetWorkflowExecutionStartedEventAttributes().WorkflowType.Name = "Order"
			return e
		}, replay.Options{}, replay.ErrForeign, `the workflow is none of Everstep's at event 1: its type is "Order"`},
		"a key that is missing": {func(e history) history { return e },
			replay.Options{DataConverter: sealed{converter.GetDefaultDataConverter()}}, replay.ErrUnreadable, "no key k1"},
		"an input that is none": {func(e history) history {
			e[0].GetWorkflowExecutionStartedEventAttributes().Input.Payloads[0].Data = []byte("{")
			return e
		}, replay.Options{}, replay.ErrUnreadable, "unexpected end of JSON input"},
		"another command": {func(e history) history {
			e[5].GetActivityTaskScheduledEventAttributes().ActivityType.Name = "agent.CallModel"
			return e
		}, replay.Options{}, replay.ErrDiffers,
			"the history does not fit the workflow of this build at event 4: recorded is ActivityTaskScheduled agent.CallModel, and now it would be ScheduleActivityTask agent.ListTools"},
		"one command more": {func(e history) history { return e[:5] }, replay.Options{}, replay.ErrDiffers,
			"the history does not fit the workflow of this build at event 4: it would now do ScheduleActivityTask agent.ListTools, which is not recorded"},
		"one command less": {func(e history) history {
			more := proto.Clone(e[4]).(*historypb.HistoryEvent)
			return numbered(append(e, more))
		}, replay.Options{}, replay.ErrDiffers, "at event 4: recorded is WorkflowPropertiesModified, which it would not do now"},
		"an end that would not come": {func(e history) history {
			e[5] = &historypb.HistoryEvent{EventId: 6, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, Attributes: &historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes{
				WorkflowExecutionFailedEventAttributes: &historypb.WorkflowExecutionFailedEventAttributes{WorkflowTaskCompletedEventId: 4},
			}}
			return e
		}, replay.Options{}, replay.ErrDiffers, "at event 4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := begun(t)
			if errors.Is(test.kind, replay.ErrNotBegun) {
				input, err := converter.GetDefaultDataConverter().ToPayloads(contract.SessionInput{Name: id})
				require.NoError(t, err)
				events[0].GetWorkflowExecutionStartedEventAttributes().Input = input
			}
			_, _, err := status(t, test.events(events), test.options)
			require.ErrorIs(t, err, test.kind)
			require.ErrorContains(t, err, test.says)
		})
	}
}

// TestAskOfALongHistory: a task takes 50,000 signals that the workflow does not know.
func TestAskOfALongHistory(t *testing.T) {
	t.Parallel()
	events := begun(t)
	for range 50_000 {
		events = append(events, signalled("unknown"))
	}
	_, waiting, err := status(t, numbered(events), replay.Options{})
	require.NoError(t, err)
	require.Len(t, waiting, 50_000)
	events = append(events, begun(t)[1:4]...)
	view, waiting, err := status(t, numbered(events), replay.Options{})
	require.NoError(t, err)
	require.Empty(t, waiting)
	require.Equal(t, id, view.Name)
}

// TestAskOfDamagedHistories: whatever is wrong with events, it is one of the errors that a caller can tell apart.
func TestAskOfDamagedHistories(t *testing.T) {
	t.Parallel()
	whole := numbered(append(append(begun(t), signalled("unknown")), begun(t)[1:4]...))
	rapid.Check(t, func(t *rapid.T) {
		events := make(history, len(whole))
		for i, event := range whole {
			events[i] = proto.Clone(event).(*historypb.HistoryEvent)
		}
		for range rapid.IntRange(1, 3).Draw(t, "damages") {
			event := events[rapid.IntRange(0, len(events)-1).Draw(t, "event")]
			switch rapid.IntRange(0, 3).Draw(t, "damage") {
			case 0:
				event.Attributes = nil
			case 1:
				event.EventType = enumspb.EventType(rapid.IntRange(0, 60).Draw(t, "type"))
			case 2:
				event.EventId = int64(rapid.IntRange(0, 12).Draw(t, "id"))
			case 3:
				other := events[rapid.IntRange(0, len(events)-1).Draw(t, "other")]
				event.EventType, event.Attributes = other.EventType, other.Attributes
			}
		}
		if _, _, err := status(t, events[:rapid.IntRange(0, len(events)).Draw(t, "length")], replay.Options{}); err != nil {
			own, ok := errors.AsType[*replay.Error](err)
			require.True(t, ok, "%v", err)
			require.Contains(t, []error{replay.ErrNotBegun, replay.ErrDiffers, replay.ErrUnreadable, replay.ErrIncomplete, replay.ErrForeign}, own.Kind)
		}
	})
}
