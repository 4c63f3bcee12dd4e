package whole_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	agents "everstep/starter/client"
	"everstep/testsuite"
	"everstep/worker/host"
	"everstep/worker/host/codec"
	"everstep/workflows"
)

// freshHistories has one history of each kind that the mutants need, as this build has just made them.
func freshHistories(t *testing.T) map[string]*historypb.History {
	t.Helper()
	histories := map[string]*historypb.History{}
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	keep := func(name string, begun agents.Execution) {
		s.ended(t, begun)
		require.Eventually(t, func() bool {
			histories[name] = s.history(t, begun.WorkflowID, begun.RunID)
			return ends(histories[name].Events[len(histories[name].Events)-1])
		}, patience, 20*time.Millisecond)
	}
	keep("plain", s.begin(t, "turns: [{text: hello}]"))
	keep("parallel-tools", s.begin(t, `
turns:
  - text: 'looking'
    tool_calls: [{name: echo, arguments: {text: a}}, {name: echo, arguments: {text: b}}, {name: nothing, arguments: {}}, {name: echo, arguments: {text: c}}]
  - text: 'done'
`, "echo"))
	s = start(t, host.Config{Hooks: []hook.Hook{saysEachTime("first"), saysEachTime("second")}, Tools: []tool.Tool{echo()}})
	keep("hooks", s.begin(t, "turns: [{text: hello}]"))
	begun := s.starts(t, agents.Start{Prompt: "go", Definition: scripted(longScript(t, 3, 1), "echo"), Budget: steps(2)})
	keep("budget", begun)

	shop := newWorkshop()
	shop.open()
	s = start(t, host.Config{Tools: []tool.Tool{shop.tool(domain.AtMostOnce)}})
	begun = s.begin(t, toolScript, "work")
	s.textSeen(t, begun.ID)
	s.stops(t, begun.ID, agents.StopOptions{Mode: contract.AfterStep, Within: contract.Span(time.Hour), Reason: "enough"})
	keep("stop-after_step", begun)

	s = overRuns(t)
	begun = s.starts(t, agents.Start{Prompt: "go", Definition: scripted(longScript(t, 15, 1), "echo")})
	keep("continue-as-new", begun)

	s = start(t, host.Config{})
	name := s.schedules(t, quickRun).Name
	s.triggers(t, name, "")
	run := s.runs(t, name, ended(1))[0]
	keep("scheduled", agents.Execution{ID: run.ID, Number: run.Number, WorkflowID: run.WorkflowID, RunID: run.FirstRunID})
	return histories
}

// reported is a test that keeps what is reported to it.
type reported struct {
	testing.TB
	text string
}

func (*reported) Helper() {}

func (s *reported) Errorf(format string, args ...any) { s.text += fmt.Sprintf(format, args...) }

// saysEachTime is a hook of all agents that says something else before each step.
func saysEachTime(name string) hook.Hook {
	h := hook.BeforeStep(name, func(c hook.Point) (hook.Point, error) {
		return c.Say(domain.RoleUser, fmt.Sprintf("%s: %d steps", name, c.State.StepCount())), nil
	})
	h.Always = true
	return h
}

// replies are the events that record what hooks want, in order.
func replies(history *historypb.History) (all []*historypb.MarkerRecordedEventAttributes) {
	for _, event := range history.Events {
		if marker := event.GetMarkerRecordedEventAttributes(); marker != nil {
			all = append(all, marker)
		}
	}
	return all
}

// replayed is what Replay reports of a history.
func replayed(t *testing.T, history *historypb.History) string {
	t.Helper()
	heard := &reported{TB: t}
	testsuite.Replay(heard, history)
	return heard.text
}

// scheduled are the events that schedule an activity, in order.
func scheduled(history *historypb.History, activity string) []*historypb.ActivityTaskScheduledEventAttributes {
	var all []*historypb.ActivityTaskScheduledEventAttributes
	for _, event := range history.Events {
		if a := event.GetActivityTaskScheduledEventAttributes(); a != nil && a.ActivityType.Name == activity {
			all = append(all, a)
		}
	}
	return all
}

// last is the last event of a type.
func last(t *testing.T, history *historypb.History, of enumspb.EventType) *historypb.HistoryEvent {
	t.Helper()
	for _, event := range slices.Backward(history.Events) {
		if event.EventType == of {
			return event
		}
	}
	require.FailNow(t, "no such event", of)
	return nil
}

// edit changes the object in a payload, which may be compressed.
func edit(t *testing.T, payload *commonpb.Payload, change func(object map[string]any)) {
	t.Helper()
	var object map[string]any
	converts := codec.New().DataConverter()
	require.NoError(t, converts.FromPayload(payload, &object))
	change(object)
	edited, err := converter.GetDefaultDataConverter().ToPayload(object)
	require.NoError(t, err)
	payload.Metadata, payload.Data = edited.Metadata, edited.Data
}

// TestReplayCatches changes what is recorded, one thing at a time, which is to a replay what a change of the workflow is.
// Temporal's replayer notices only the activities that changed places.
func TestReplayCatches(t *testing.T) {
	t.Parallel()
	fresh := freshHistories(t)
	of := func(name string) *historypb.History { return proto.Clone(fresh[name]).(*historypb.History) }
	reverse := func(_ *testing.T, h *historypb.History) {
		calls := scheduled(h, string(contract.CallTool))
		calls[0].Input, calls[2].Input = calls[2].Input, calls[0].Input
	}
	reversed := []string{
		`, activity agent.CallTool at /arguments: recorded "{\"text\":\"c\"}", now "{\"text\":\"a\"}"`,
		`, activity agent.CallTool at /arguments: recorded "{\"text\":\"a\"}", now "{\"text\":\"c\"}"`,
	}
	for name, test := range map[string]struct {
		history string
		mutate  func(t *testing.T, h *historypb.History)
		want    []string
	}{
		"the calls of a step reversed": {"parallel-tools", reverse, reversed},
		"two hooks swapped": {"hooks", func(_ *testing.T, h *historypb.History) {
			recorded := replies(h)
			recorded[0].Details, recorded[1].Details = recorded[1].Details, recorded[0].Details
		}, []string{
			`, reply hook/before_step/second: is recorded, and now it is reply hook/before_step/first`,
			`, reply hook/before_step/first: is recorded, and now it is reply hook/before_step/second`,
		}},
		"a field dropped": {"plain", func(t *testing.T, h *historypb.History) {
			edit(t, scheduled(h, string(contract.CallModel))[0].Input.Payloads[0], func(o map[string]any) { o["budget"] = 7 })
		}, []string{`, activity agent.CallModel at /budget: recorded 7, now missing`}},
		"a field added": {"plain", func(t *testing.T, h *historypb.History) {
			edit(t, scheduled(h, string(contract.CallModel))[0].Input.Payloads[0], func(o map[string]any) { delete(o, "execution_id") })
		}, []string{`, activity agent.CallModel at /execution_id: not recorded, now "`}},
		"a timer's time": {"stop-after_step", func(t *testing.T, h *historypb.History) {
			last(t, h, enumspb.EVENT_TYPE_TIMER_STARTED).GetTimerStartedEventAttributes().StartToFireTimeout = durationpb.New(time.Minute)
		}, []string{`, timer: recorded "1m0s", now "`}},
		"an outcome's count, in the memo": {"budget", func(t *testing.T, h *historypb.History) {
			fields := last(t, h, enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED).GetWorkflowPropertiesModifiedEventAttributes().UpsertedMemo.Fields
			edit(t, fields[contract.MemoOutcome], func(o map[string]any) { o["step_count"] = 3 })
		}, []string{`, memo at /` + contract.MemoOutcome + `/step_count: recorded 3, now 2`}},
		"an outcome's count, in the result": {"budget", func(t *testing.T, h *historypb.History) {
			result := last(t, h, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED).GetWorkflowExecutionCompletedEventAttributes().Result
			edit(t, result.Payloads[0], func(o map[string]any) { o["step_count"] = 9 })
		}, []string{`, result at /step_count: recorded 9, now 2`}},
		"a search attribute": {"budget", func(t *testing.T, h *historypb.History) {
			attributes := last(t, h, enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES).GetUpsertWorkflowSearchAttributesEventAttributes()
			attributes.SearchAttributes.IndexedFields[contract.AttributeStopReason].Data = []byte(`"completed"`)
		}, []string{`, search attributes at /` + contract.AttributeStopReason + `: recorded "completed", now "steps_limit"`}},
		"two activities swapped": {"parallel-tools", func(_ *testing.T, h *historypb.History) {
			model, call := scheduled(h, string(contract.CallModel))[0], scheduled(h, string(contract.CallTool))[0]
			model.ActivityType, call.ActivityType = call.ActivityType, model.ActivityType
			model.Input, call.Input = call.Input, model.Input
		}, []string{
			`, activity agent.CallTool: is recorded, and now it is activity agent.CallModel`,
			`, activity agent.CallModel: is recorded, and now it is activity agent.CallTool`,
			`Temporal's replayer: `,
		}},
		"a carry": {"continue-as-new", func(t *testing.T, h *historypb.History) {
			carried := last(t, h, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW).GetWorkflowExecutionContinuedAsNewEventAttributes()
			edit(t, carried.Input.Payloads[0], func(o map[string]any) { o["carry"].(map[string]any)["event_sequence"] = 6 })
		}, []string{`, carry at /carry/event_sequence: recorded 6, now `}},
		"an end that was none": {"plain", func(t *testing.T, h *historypb.History) {
			require.Equal(t, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, h.Events[len(h.Events)-1].EventType)
			h.Events = h.Events[:len(h.Events)-1]
		}, []string{`, result: is not recorded, and comes now`}},
		"a failure": {"plain", func(_ *testing.T, h *historypb.History) {
			end := h.Events[len(h.Events)-1]
			by := end.GetWorkflowExecutionCompletedEventAttributes().WorkflowTaskCompletedEventId
			end.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED
			end.Attributes = &historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes{
				WorkflowExecutionFailedEventAttributes: &historypb.WorkflowExecutionFailedEventAttributes{WorkflowTaskCompletedEventId: by},
			}
		}, []string{`, failure: is recorded, and now it is result`}},
		"compressed inputs, swapped": {"parallel-tools", func(t *testing.T, h *historypb.History) {
			compressCalls(t, h)
			require.Empty(t, replayed(t, h))
			calls := scheduled(h, string(contract.CallTool))
			calls[0].Input, calls[1].Input = calls[1].Input, calls[0].Input
		}, []string{
			`, activity agent.CallTool at /arguments: recorded "{\"text\":\"b\"}", now "{\"text\":\"a\"}"`,
			`, activity agent.CallTool at /arguments: recorded "{\"text\":\"a\"}", now "{\"text\":\"b\"}"`,
		}},
		"an open history": {"parallel-tools", func(t *testing.T, h *historypb.History) {
			t.Helper()
			reverse(t, h)
			h.Events = openHistory(h).Events
		}, reversed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history := of(test.history)
			require.Empty(t, replayed(t, history), "the history as it is")
			test.mutate(t, history)
			text := replayed(t, history)
			for _, want := range test.want {
				require.Contains(t, text, want)
			}
			require.LessOrEqual(t, len(text), 2000, "a failure is short")
			require.LessOrEqual(t, strings.Count(text, "\n"), len(test.want)+2, text)
		})
	}
	for name := range fresh {
		t.Run("another command in "+name, func(t *testing.T) {
			t.Parallel()
			requireNoticed(t, of(name))
		})
		t.Run(name+" cut where a worker would get it", func(t *testing.T) {
			t.Parallel()
			for i, event := range fresh[name].Events {
				if event.EventType == enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED {
					require.Empty(t, replayed(t, &historypb.History{Events: of(name).Events[:i+1]}), "up to event %d", i+1)
				}
			}
		})
	}
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		for name, history := range fresh {
			encoded, err := protojson.Marshal(history)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+".json"), encoded, 0o600))
		}
		testsuite.ReplayFiles(t, filepath.Join(dir, "*.json"))
	})
}

// compressCalls has the inputs of tool calls as the codec writes long ones.
func compressCalls(t *testing.T, history *historypb.History) {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	for _, call := range scheduled(history, string(contract.CallTool)) {
		raw, err := proto.Marshal(call.Input.Payloads[0])
		require.NoError(t, err)
		call.Input = &commonpb.Payloads{Payloads: []*commonpb.Payload{{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(codec.Encoding)}, Data: encoder.EncodeAll(raw, nil),
		}}}
	}
}

// requireNoticed replays a history by workflows that issue one command more.
func requireNoticed(t *testing.T, history *historypb.History) {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: codec.New().DataConverter(), DisableDeadlockDetection: true, // a busy machine is none
	})
	require.NoError(t, err)
	r.RegisterWorkflowWithOptions(func(ctx workflow.Context, in *contract.SessionInput) (*contract.Outcome, error) {
		if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
			return nil, err
		}
		return workflows.Options{}.Execute(ctx, in)
	}, workflow.RegisterOptions{Name: string(contract.Execute)})
	r.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ contract.ScheduledInput) (contract.ScheduledRun, error) {
		return contract.ScheduledRun{}, workflow.Sleep(ctx, time.Millisecond)
	}, workflow.RegisterOptions{Name: string(contract.Scheduled)})
	silent := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	require.Error(t, r.ReplayWorkflowHistory(silent, history))
}

// TestReplayRefusesWhatIsNoHistory says so and does not panic.
func TestReplayRefusesWhatIsNoHistory(t *testing.T) {
	t.Parallel()
	require.Contains(t, replayed(t, nil), "the history has no events")
	require.Contains(t, replayed(t, &historypb.History{Events: make([]*historypb.HistoryEvent, 3)}), "is not WorkflowExecutionStarted")
}
