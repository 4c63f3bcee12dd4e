package workflows_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"everstep/domain"
	"everstep/workflows"
)

// A chronicle is a history written by hand: what several events in one workflow
// task do can be told only so, since the test environment delivers each by
// itself. Replaying it fails where the workflow issues other commands than it
// says.
type chronicle struct {
	t      *testing.T
	events []*historypb.HistoryEvent
	clock  time.Time
}

// began begins the history of an agent.
func began(t *testing.T, in domain.SessionInput) *chronicle {
	t.Helper()
	c := &chronicle{t: t, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	c.add(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
				WorkflowType: &commonpb.WorkflowType{Name: string(domain.Execute)}, TaskQueue: &taskqueuepb.TaskQueue{Name: "q"},
				Input: c.payloads(in), FirstExecutionRunId: "first", OriginalExecutionRunId: "first",
				WorkflowTaskTimeout: durationpb.New(10 * time.Second),
			}},
	})
	return c
}

func (c *chronicle) add(kind enumspb.EventType, event *historypb.HistoryEvent) int64 {
	event.EventId, event.EventType, event.EventTime = int64(len(c.events)+1), kind, timestamppb.New(c.clock)
	c.events = append(c.events, event)
	return event.EventId
}

func (c *chronicle) payloads(value any) *commonpb.Payloads {
	encoded, err := converter.GetDefaultDataConverter().ToPayloads(value)
	require.NoError(c.t, err)
	return encoded
}

// task is a workflow task that takes all that came since the last one. What is
// added next are its commands.
func (c *chronicle) task() *chronicle {
	scheduled := c.add(enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_WorkflowTaskScheduledEventAttributes{
			WorkflowTaskScheduledEventAttributes: &historypb.WorkflowTaskScheduledEventAttributes{TaskQueue: &taskqueuepb.TaskQueue{Name: "q"}},
		}})
	started := c.add(enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_WorkflowTaskStartedEventAttributes{
			WorkflowTaskStartedEventAttributes: &historypb.WorkflowTaskStartedEventAttributes{ScheduledEventId: scheduled},
		}})
	flags := &sdkpb.WorkflowTaskCompletedMetadata{}
	if scheduled == 2 {
		flags.LangUsedFlags = []uint32{3, 4}
	}
	c.add(enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes{
			WorkflowTaskCompletedEventAttributes: &historypb.WorkflowTaskCompletedEventAttributes{
				ScheduledEventId: scheduled, StartedEventId: started, SdkMetadata: flags,
			},
		}})
	return c
}

// calls is the command that schedules an activity.
func (c *chronicle) calls(name string) int64 {
	return c.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
				ActivityId: strconv.Itoa(len(c.events) + 1), ActivityType: &commonpb.ActivityType{Name: name},
				TaskQueue: &taskqueuepb.TaskQueue{Name: "q"},
			},
		}})
}

// returns is the end of an activity.
func (c *chronicle) returns(activity int64, result any) *chronicle {
	started := c.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{
			ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: activity, Attempt: 1},
		}})
	c.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{
				ScheduledEventId: activity, StartedEventId: started, Result: c.payloads(result),
			},
		}})
	return c
}

func (c *chronicle) stops(request domain.StopRequest) *chronicle {
	c.add(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
			WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{
				SignalName: string(domain.SignalStop), Input: c.payloads(request),
			},
		}})
	return c
}

func (c *chronicle) cancels() *chronicle {
	c.add(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED, &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_WorkflowExecutionCancelRequestedEventAttributes{
			WorkflowExecutionCancelRequestedEventAttributes: &historypb.WorkflowExecutionCancelRequestedEventAttributes{},
		}})
	return c
}

// sets is the command that starts a timer.
func (c *chronicle) sets(d time.Duration) int64 {
	return c.add(enumspb.EVENT_TYPE_TIMER_STARTED, &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_TimerStartedEventAttributes{
			TimerStartedEventAttributes: &historypb.TimerStartedEventAttributes{
				TimerId: strconv.Itoa(len(c.events) + 1), StartToFireTimeout: durationpb.New(d),
			},
		}})
}

// fires is the end of a timer.
func (c *chronicle) fires(timer int64) *chronicle {
	c.clock = c.clock.Add(c.events[timer-1].GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration())
	c.add(enumspb.EVENT_TYPE_TIMER_FIRED, &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_TimerFiredEventAttributes{
			TimerFiredEventAttributes: &historypb.TimerFiredEventAttributes{TimerId: strconv.FormatInt(timer, 10), StartedEventId: timer},
		}})
	return c
}

// notes is the command that writes an outcome into the memo.
func (c *chronicle) notes() *chronicle {
	c.add(enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED, &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_WorkflowPropertiesModifiedEventAttributes{
			WorkflowPropertiesModifiedEventAttributes: &historypb.WorkflowPropertiesModifiedEventAttributes{UpsertedMemo: &commonpb.Memo{}},
		}})
	return c
}

// ends is the commands with which a workflow completes: no activity and no
// timer among them. It returns the outcome.
func (c *chronicle) ends() domain.Outcome {
	c.t.Helper()
	c.notes().add(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{
			WorkflowExecutionCompletedEventAttributes: &historypb.WorkflowExecutionCompletedEventAttributes{},
		}})
	return c.replays()
}

// replays runs the workflow along the history, and returns its outcome where it
// comes to its end.
func (c *chronicle) replays() (out domain.Outcome) {
	c.t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{})
	require.NoError(c.t, err)
	r.RegisterWorkflowWithOptions(func(ctx workflow.Context, in domain.SessionInput) (domain.Outcome, error) {
		var err error
		out, err = workflows.Execute(ctx, in)
		return out, err
	}, workflow.RegisterOptions{Name: string(domain.Execute)})
	require.NoError(c.t, r.ReplayWorkflowHistory(nil, &historypb.History{Events: c.events}))
	return out
}

func catalog() domain.Catalog {
	return domain.Catalog{
		Tools:           []domain.ToolSpec{{Name: "look", Effect: domain.ReadOnly}},
		MinOutputTokens: 1, Digest: domain.DigestOf([]byte("resolved")),
	}
}

// asking brings an agent to where its first inference is under way.
func asking(t *testing.T, change ...func(*domain.SessionInput)) (*chronicle, int64) {
	t.Helper()
	c := began(t, input(t, "", change...)).task()
	listing := c.calls(string(domain.ListTools))
	c.returns(listing, catalog()).task()
	return c, c.calls(string(domain.CallModel))
}

func look() domain.ToolCall { return domain.ToolCall{ID: "1", Name: "look", Arguments: "{}"} }

// TestNothingStartsAfterAStopOfTheSameTask: the stop and the end of what was
// under way come to the workflow at once.
func TestNothingStartsAfterAStopOfTheSameTask(t *testing.T) {
	t.Parallel()
	for _, mode := range domain.StopModes() {
		for _, order := range []string{"stop first", "stop last"} {
			t.Run(fmt.Sprint(mode, " ", order), func(t *testing.T) {
				t.Parallel()
				c, inference := asking(t)
				stop := domain.StopRequest{Mode: mode}
				if order == "stop first" {
					c.stops(stop).returns(inference, says("looking", look()))
				} else {
					c.returns(inference, says("looking", look())).stops(stop)
				}
				c.task()
				if mode == domain.AfterStep {
					tool := c.calls(string(domain.CallTool))
					c.returns(tool, domain.ToolReply{Content: "seen"}).task()
				}
				out := c.ends()
				require.Equal(t, domain.StatusStopped, out.Status)
				require.Equal(t, domain.UserRequested, out.StopReason)
				require.Equal(t, 1, out.Steps)
			})
		}
	}
}

// TestNoStepAfterAStopWithTheLastTool: the stop comes with the end of the tool.
func TestNoStepAfterAStopWithTheLastTool(t *testing.T) {
	t.Parallel()
	for _, mode := range domain.StopModes() {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			c, inference := asking(t)
			c.returns(inference, says("looking", look())).task()
			tool := c.calls(string(domain.CallTool))
			c.returns(tool, domain.ToolReply{Content: "seen"}).stops(domain.StopRequest{Mode: mode}).task()
			require.Equal(t, 1, c.ends().Steps)
		})
	}
}

// TestACancellationOfTheSameTask is a stop like any other.
func TestACancellationOfTheSameTask(t *testing.T) {
	t.Parallel()
	c, inference := asking(t)
	c.returns(inference, says("looking", look())).cancels().task()
	out := c.ends()
	require.Equal(t, domain.UserRequested, out.StopReason)
	require.Equal(t, 1, out.Steps)
}

// TestATimeLimitOfTheSameTask: the time is over just as the step ends.
func TestATimeLimitOfTheSameTask(t *testing.T) {
	t.Parallel()
	seconds := 30.0
	limited := func(in *domain.SessionInput) { in.Budget.MaxSeconds = &seconds }
	for name, test := range map[string]struct {
		reply  domain.ModelReply
		reason domain.StopReason
		steps  int
	}{
		"with calls":      {says("looking", look()), domain.TimeLimitReached, 1},
		"with the answer": {says("done"), domain.TimeLimitReached, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := began(t, input(t, "", limited)).task()
			timer := c.sets(30 * time.Second)
			listing := c.calls(string(domain.ListTools))
			c.returns(listing, catalog()).task()
			inference := c.calls(string(domain.CallModel))
			c.returns(inference, test.reply).fires(timer).task()
			out := c.ends()
			require.Equal(t, test.reason, out.StopReason)
			require.Equal(t, test.steps, out.Steps)
		})
	}
}

// TestALateAlarmOfASession rings when its execution is over: it may neither
// break the session nor touch what comes next.
func TestALateAlarmOfASession(t *testing.T) {
	t.Parallel()
	c := began(t, input(t, "ann")).task()
	listing := c.calls(string(domain.ListTools))
	c.returns(listing, catalog()).task()
	inference := c.calls(string(domain.CallModel))
	c.stops(domain.StopRequest{Within: domain.Span(time.Minute)}).task()
	timer := c.sets(time.Minute)
	c.returns(inference, says("done")).fires(timer).task().notes()
	c.stops(domain.StopRequest{Mode: domain.StopNow}).task()
	c.replays()
}

// TestAStopBeforeTheFirstTaskStartsNothing at all, not even a look at the tools.
func TestAStopBeforeTheFirstTaskStartsNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range domain.StopModes() {
		c := began(t, input(t, "")).stops(domain.StopRequest{Mode: mode}).task()
		out := c.ends()
		require.Equal(t, domain.UserRequested, out.StopReason)
		require.Zero(t, out.Steps)
	}
	require.Equal(t, domain.UserRequested, began(t, input(t, "")).cancels().task().ends().StopReason)
}
