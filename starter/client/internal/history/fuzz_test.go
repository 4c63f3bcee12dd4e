package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
	"everstep/worker/host/codec"
)

// madeHistories are of two executions: one whose first step makes calls, one that is sent, stopped and continued.
func madeHistories(t testing.TB) map[string]*historypb.History {
	t.Helper()
	calls := begun()
	model := calls.asks(contract.CallModel, contract.ModelRequest{ExecutionID: first, Step: 1})
	calls.gets(model, 1, answered("looking", "a", "b", "c"))
	var asked []int64
	for position := range 3 {
		asked = append(asked, calls.asks(contract.CallTool, contract.ToolRequest{ExecutionID: first, Step: 1, Position: position, Name: "echo", Arguments: "{}"}))
	}
	calls.gets(asked[1], 1, contract.ToolReply{Content: "b"})
	calls.gets(asked[0], 3, contract.ToolReply{Content: "a"})
	calls.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED, &historypb.HistoryEvent_ActivityTaskCancelRequestedEventAttributes{
		ActivityTaskCancelRequestedEventAttributes: &historypb.ActivityTaskCancelRequestedEventAttributes{ScheduledEventId: asked[2]},
	})
	calls.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT, &historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes{
		ActivityTaskTimedOutEventAttributes: &historypb.ActivityTaskTimedOutEventAttributes{ScheduledEventId: asked[2]},
	})
	calls.gets(calls.asks(contract.CallModel, contract.ModelRequest{ExecutionID: first, Step: 2}), 1, answered("done"))
	calls.ended(contract.Outcome{AgentID: agent, ExecutionID: first, Number: 1, Status: domain.StatusCompleted, StopReason: domain.Completed, Steps: 2})
	calls.add(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{
		WorkflowExecutionCompletedEventAttributes: &historypb.WorkflowExecutionCompletedEventAttributes{},
	})

	stopped := begun()
	stopped.gets(stopped.asks(contract.CallModel, contract.ModelRequest{ExecutionID: first, Step: 1}), 1, answered("looking", "a"))
	stopped.add(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
		WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{
			SignalName: string(contract.SignalStop), Input: encoded(contract.StopRequest{Mode: contract.StopNow, Reason: "enough"}),
		},
	})
	stopped.ended(contract.Outcome{AgentID: agent, ExecutionID: first, Number: 1, Status: domain.StatusStopped, StopReason: domain.UserRequested, Steps: 1})
	stopped.add(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW, &historypb.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes{
		WorkflowExecutionContinuedAsNewEventAttributes: &historypb.WorkflowExecutionContinuedAsNewEventAttributes{NewExecutionRunId: "next"},
	})
	return map[string]*historypb.History{"parallel-tools": &calls.History, "stopped": &stopped.History}
}

var (
	agent = domain.AgentID{UUID: uuid.UUID{1}}
	first = agent.Execution("run", 1)
)

// A made history is written event by event.
type made struct{ historypb.History }

func begun() *made {
	m := &made{}
	m.add(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
			WorkflowType: &commonpb.WorkflowType{Name: string(contract.Execute)}, FirstExecutionRunId: "run",
			Input: encoded(contract.SessionInput{AgentID: agent, Prompt: "go"}),
		},
	})
	m.add(enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, nil)
	m.add(enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, nil)
	m.add(enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, nil)
	return m
}

func (m *made) add(of enumspb.EventType, event any) int64 {
	e := &historypb.HistoryEvent{EventId: int64(len(m.Events) + 1), EventType: of, EventTime: timestamppb.New(time.Unix(int64(len(m.Events)), 0))}
	switch a := event.(type) {
	case *historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes:
		e.Attributes = a
	case *historypb.HistoryEvent_ActivityTaskScheduledEventAttributes:
		e.Attributes = a
	case *historypb.HistoryEvent_ActivityTaskStartedEventAttributes:
		e.Attributes = a
	case *historypb.HistoryEvent_ActivityTaskCompletedEventAttributes:
		e.Attributes = a
	case *historypb.HistoryEvent_ActivityTaskCancelRequestedEventAttributes:
		e.Attributes = a
	case *historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes:
		e.Attributes = a
	case *historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes:
		e.Attributes = a
	case *historypb.HistoryEvent_WorkflowPropertiesModifiedEventAttributes:
		e.Attributes = a
	case *historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes:
		e.Attributes = a
	case *historypb.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes:
		e.Attributes = a
	}
	m.Events = append(m.Events, e)
	return e.EventId
}

func (m *made) asks(activity any, request any) int64 {
	return m.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
		ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
			ActivityId: fmt.Sprint(len(m.Events) + 1), ActivityType: &commonpb.ActivityType{Name: fmt.Sprint(activity)}, Input: encoded(request),
		},
	})
}

func (m *made) gets(asked int64, attempt int32, reply any) {
	m.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{
		ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: asked, Attempt: attempt},
	})
	m.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
		ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{ScheduledEventId: asked, Result: encoded(reply)},
	})
	m.add(enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, nil) // a worker has taken it
}

func (m *made) ended(o contract.Outcome) {
	m.add(enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED, &historypb.HistoryEvent_WorkflowPropertiesModifiedEventAttributes{
		WorkflowPropertiesModifiedEventAttributes: &historypb.WorkflowPropertiesModifiedEventAttributes{
			UpsertedMemo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{contract.MemoOutcome: encoded(o).Payloads[0]}},
		},
	})
}

func answered(text string, calls ...string) contract.ModelReply {
	m := domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: text}}}
	for _, id := range calls {
		m.ToolCalls = append(m.ToolCalls, domain.ToolCall{ID: id, Name: "echo", Arguments: "{}"})
	}
	return contract.ModelReply{Outcome: contract.Answered, Message: &m, Tries: 1}
}

func encoded(value any) *commonpb.Payloads {
	payloads, err := codec.New().DataConverter().ToPayloads(value)
	if err != nil {
		panic(err)
	}
	return payloads
}

// inferences reads those of a history: how many have ended with a reply or were lost, and what cannot be read.
func inferences(h *historypb.History) (ended int, unread string) {
	all, missing := history.Inferences(codec.New().DataConverter(), h.GetEvents())
	for _, one := range all {
		if one.Reply != nil || one.Lost != nil {
			ended++
		}
	}
	return ended, strings.Join(missing, "\n")
}

func cloned(h *historypb.History) *historypb.History {
	return proto.Clone(h).(*historypb.History)
}

// TestBadHistories say what of their inferences cannot be read, and tell the rest.
func TestBadHistories(t *testing.T) {
	t.Parallel()
	intact := madeHistories(t)["parallel-tools"]
	ended, unread := inferences(intact)
	require.Equal(t, 2, ended)
	require.Empty(t, unread)
	for name, c := range map[string]struct {
		spoil func(h *historypb.History)
		says  string
		ended int
	}{
		"an event of an unknown type": {
			func(h *historypb.History) { h.Events[1].EventType = 9999 }, "", 2,
		},
		"a gap": {
			func(h *historypb.History) { h.Events = slices.Delete(h.Events, 1, 3) }, "", 2,
		},
		"no beginning": {
			func(h *historypb.History) { h.Events = h.Events[1:] }, "", 2,
		},
		"no event at all": {func(h *historypb.History) { h.Events = nil }, "", 0},
		"an event without a body": {
			func(h *historypb.History) {
				for _, e := range h.Events {
					e.Attributes = nil
				}
			}, "", 0,
		},
		"a request that cannot be read": {
			func(h *historypb.History) {
				of(h, contract.CallModel).Input = payload(`{"step":"first"}`)
			}, "a request to the model cannot be read: ", 1,
		},
		"a reply that cannot be read": {
			func(h *historypb.History) {
				for _, e := range h.Events {
					if a := e.GetActivityTaskCompletedEventAttributes(); a != nil {
						a.Result = payload(`[1]`)
					}
				}
			}, "a reply of the model cannot be read: ", 2,
		},
		"work that nobody asked for": {
			func(h *historypb.History) {
				for _, e := range h.Events {
					if a := e.GetActivityTaskCompletedEventAttributes(); a != nil {
						a.ScheduledEventId = 999
					}
				}
			}, "", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := cloned(intact)
			c.spoil(h)
			ended, unread := inferences(h)
			if c.says == "" {
				require.Empty(t, unread)
			} else {
				require.Contains(t, unread, c.says)
			}
			require.Equal(t, c.ended, ended, unread)
		})
	}
}

// TestBeginningsThatAreNoAgents are not readable, and name the run before all the same.
func TestBeginningsThatAreNoAgents(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(a *historypb.WorkflowExecutionStartedEventAttributes){
		"another workflow":         func(a *historypb.WorkflowExecutionStartedEventAttributes) { a.WorkflowType.Name = "billing.Run" },
		"no input":                 func(a *historypb.WorkflowExecutionStartedEventAttributes) { a.Input = nil },
		"an input of another kind": func(a *historypb.WorkflowExecutionStartedEventAttributes) { a.Input = payload(`"hello"`) },
	} {
		first := begun().Events[0]
		require.True(t, history.Began(codec.New().DataConverter(), first).Readable())
		a := first.GetWorkflowExecutionStartedEventAttributes()
		a.ContinuedExecutionRunId = "before"
		spoil(a)
		began := history.Began(codec.New().DataConverter(), first)
		require.False(t, began.Readable(), name)
		require.Equal(t, "before", began.Previous(), name)
	}
}

func payload(text string) *commonpb.Payloads {
	return &commonpb.Payloads{Payloads: []*commonpb.Payload{{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: []byte(text),
	}}}
}

// of is the first request for an activity.
func of[In, Out any](h *historypb.History, activity contract.Activity[In, Out]) *historypb.ActivityTaskScheduledEventAttributes {
	for _, e := range h.GetEvents() {
		if a := e.GetActivityTaskScheduledEventAttributes(); a.GetActivityType().GetName() == string(activity) {
			return a
		}
	}
	return nil
}

// TestCutHistories tell what stands in them.
func TestCutHistories(t *testing.T) {
	t.Parallel()
	for name, h := range madeHistories(t) {
		for n := range h.GetEvents() {
			_, unread := inferences(&historypb.History{Events: h.GetEvents()[:n+1]})
			require.Empty(t, unread, "%s cut after %d", name, n+1)
		}
	}
}

// FuzzHistory spoils histories in any way: bits, events left out, events of
// other types. Reading never panics.
func FuzzHistory(f *testing.F) {
	var names []string
	kept := madeHistories(f)
	for name := range kept {
		names = append(names, name)
	}
	slices.Sort(names)
	for i := range names {
		f.Add(i, 0, -1, 0, []byte{})
		f.Add(i, 3, 2, 0, []byte{})
		f.Add(i, 0, -1, int(enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED), []byte{})
		f.Add(i, 0, -1, 0, []byte{200, 1, 90, 40})
	}
	f.Fuzz(func(t *testing.T, which, from, kind, other int, flips []byte) {
		intact := kept[names[mod(which, len(names))]]
		h := cloned(intact)
		if n := mod(from, len(h.Events)); kind >= 0 {
			h.Events = slices.Delete(h.Events, n, min(n+1+mod(kind, 5), len(h.Events)))
		}
		if other != 0 && len(h.Events) > 0 {
			h.Events[mod(which+from, len(h.Events))].EventType = enumspb.EventType(int32(other))
		}
		if len(flips) > 0 {
			raw, err := proto.Marshal(h)
			require.NoError(t, err)
			for i, b := range flips {
				raw[mod(int(b)*(i+7)*len(raw)/64, len(raw))] ^= 1 << (b % 8)
			}
			spoiled := &historypb.History{}
			if proto.Unmarshal(raw, spoiled) != nil {
				return
			}
			h = spoiled
		}
		c, events := codec.New().DataConverter(), h.GetEvents()
		history.Inferences(c, events)
		history.Stops(c, events)
		history.Replies(c, events, contract.ListTools)
		history.LastAnswer(c, events, first)
		history.FailedTask(c, events, new(account.FailingTask))
		history.NewestReset(events)
		history.NewestBuild(events)
		history.ContinueSuggested(events)
		history.Children(events)
		_ = slices.ContainsFunc(events, history.Ends)
		if len(events) > 0 {
			history.Began(c, events[0])
		}
	})
}

func mod(n, of int) int {
	if of == 0 {
		return 0
	}
	return ((n % of) + of) % of
}
