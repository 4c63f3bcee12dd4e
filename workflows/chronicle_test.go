package workflows_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"everstep/domain/contract"
	"everstep/workflows"
)

// A chronicle is a history written by hand: what several events in one workflow
// task do can be told only so, since the test environment delivers each by
// itself. Replaying it fails where the workflow issues other commands than it
// says.
type chronicle struct {
	t      *testing.T
	in     contract.SessionInput
	events []*historypb.HistoryEvent
	clock  time.Time
}

// began begins the history of an agent.
func began(t *testing.T, in contract.SessionInput) *chronicle {
	t.Helper()
	c := &chronicle{t: t, in: in, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	c.add(&historypb.WorkflowExecutionStartedEventAttributes{
		WorkflowType: &commonpb.WorkflowType{Name: string(contract.Execute)}, TaskQueue: &taskqueuepb.TaskQueue{Name: "q"},
		Input: c.payloads(in), FirstExecutionRunId: "first", OriginalExecutionRunId: "first",
		WorkflowTaskTimeout: durationpb.New(10 * time.Second),
	})
	return c
}

// add adds the event of these attributes, and returns its id.
func (c *chronicle) add(attributes proto.Message) int64 {
	event, of := &historypb.HistoryEvent{EventId: int64(len(c.events) + 1), EventTime: timestamppb.New(c.clock)}, attributes.ProtoReflect()
	for i := range event.ProtoReflect().Descriptor().Fields().Len() {
		field := event.ProtoReflect().Descriptor().Fields().Get(i)
		if field.Message() == of.Descriptor() {
			event.ProtoReflect().Set(field, protoreflect.ValueOfMessage(of))
		}
	}
	var err error
	event.EventType, err = enumspb.EventTypeFromString(strings.TrimSuffix(string(of.Descriptor().Name()), "EventAttributes"))
	require.NoError(c.t, err)
	c.events = append(c.events, event)
	return event.EventId
}

func (c *chronicle) payloads(value any) *commonpb.Payloads {
	encoded, err := converter.GetDefaultDataConverter().ToPayloads(value)
	require.NoError(c.t, err)
	return encoded
}

// task is a workflow task that takes all that came since the last one. What is
// added next are its commands. The first one has written the build into the memo.
func (c *chronicle) task() *chronicle {
	first := !slices.ContainsFunc(c.events, func(e *historypb.HistoryEvent) bool {
		return e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
	})
	scheduled := c.add(&historypb.WorkflowTaskScheduledEventAttributes{TaskQueue: &taskqueuepb.TaskQueue{Name: "q"}})
	started := c.add(&historypb.WorkflowTaskStartedEventAttributes{ScheduledEventId: scheduled})
	flags := &sdkpb.WorkflowTaskCompletedMetadata{}
	if scheduled == 2 {
		flags.LangUsedFlags = []uint32{3, 4}
	}
	c.add(&historypb.WorkflowTaskCompletedEventAttributes{
		ScheduledEventId: scheduled, StartedEventId: started, SdkMetadata: flags,
	})
	if first {
		c.notes()
	}
	return c
}

// calls is the command that schedules an activity.
func (c *chronicle) calls(name string) int64 {
	return c.add(&historypb.ActivityTaskScheduledEventAttributes{
		ActivityId: strconv.Itoa(len(c.events) + 1), ActivityType: &commonpb.ActivityType{Name: name},
		TaskQueue: &taskqueuepb.TaskQueue{Name: "q"},
	})
}

// returns is the end of an activity.
func (c *chronicle) returns(activity int64, result any) *chronicle {
	started := c.add(&historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: activity, Attempt: 1})
	c.add(&historypb.ActivityTaskCompletedEventAttributes{
		ScheduledEventId: activity, StartedEventId: started, Result: c.payloads(result),
	})
	return c
}

// asksToCancel is the command that cancels an activity.
func (c *chronicle) asksToCancel(activity int64) *chronicle {
	c.add(&historypb.ActivityTaskCancelRequestedEventAttributes{ScheduledEventId: activity})
	return c
}

// exhausted says of the end of an activity before that the server had made its last attempt.
func (c *chronicle) exhausted() *chronicle {
	c.events[len(c.events)-1].GetActivityTaskTimedOutEventAttributes().RetryState = enumspb.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED
	return c
}

// dies is the end of an activity whose worker was lost; beat is what was last
// heard of it.
func (c *chronicle) dies(activity int64, beat contract.Heartbeat) *chronicle {
	started := c.add(&historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: activity, Attempt: 1})
	c.add(&historypb.ActivityTaskTimedOutEventAttributes{
		ScheduledEventId: activity, StartedEventId: started,
		Failure: &failurepb.Failure{FailureInfo: &failurepb.Failure_TimeoutFailureInfo{TimeoutFailureInfo: &failurepb.TimeoutFailureInfo{
			TimeoutType: enumspb.TIMEOUT_TYPE_HEARTBEAT, LastHeartbeatDetails: c.payloads(beat),
		}}},
	})
	return c
}

func (c *chronicle) stops(request contract.StopRequest) *chronicle {
	c.add(&historypb.WorkflowExecutionSignaledEventAttributes{
		SignalName: string(contract.SignalStop), Input: c.payloads(request),
	})
	return c
}

func (c *chronicle) cancels() *chronicle {
	c.add(&historypb.WorkflowExecutionCancelRequestedEventAttributes{})
	return c
}

// sets is the command that starts a timer.
func (c *chronicle) sets(d time.Duration) int64 {
	return c.add(&historypb.TimerStartedEventAttributes{
		TimerId: strconv.Itoa(len(c.events) + 1), StartToFireTimeout: durationpb.New(d),
	})
}

// fires is the end of a timer.
func (c *chronicle) fires(timer int64) *chronicle {
	c.clock = c.clock.Add(c.events[timer-1].GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration())
	c.add(&historypb.TimerFiredEventAttributes{TimerId: strconv.FormatInt(timer, 10), StartedEventId: timer})
	return c
}

// notes is the command that writes into the memo.
func (c *chronicle) notes() *chronicle {
	c.add(&historypb.WorkflowPropertiesModifiedEventAttributes{UpsertedMemo: &commonpb.Memo{}})
	return c
}

// ends is the commands with which a workflow completes: no activity and no
// timer among them. It returns the outcome.
func (c *chronicle) ends() contract.Outcome {
	c.t.Helper()
	c.notes().add(&historypb.WorkflowExecutionCompletedEventAttributes{})
	return c.replays()
}

// replays runs the workflow along the history, and returns its outcome where it
// comes to its end.
func (c *chronicle) replays() (out contract.Outcome) {
	c.t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true}) // a busy machine is none
	require.NoError(c.t, err)
	r.RegisterWorkflowWithOptions(func(ctx workflow.Context, in *contract.SessionInput) (*contract.Outcome, error) {
		made, err := workflows.Options{}.Execute(ctx, in)
		if err == nil {
			out = *made
		}
		return made, err
	}, workflow.RegisterOptions{Name: string(contract.Execute)})
	require.NoError(c.t, c.replayedBy(r))
	return out
}

// replayedBy replays the history under the agent's own workflow id.
func (c *chronicle) replayedBy(r worker.WorkflowReplayer) error {
	return r.ReplayWorkflowHistoryWithOptions(quiet(), &historypb.History{Events: c.events}, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: c.in.WorkflowID(), RunID: "run"},
	})
}
