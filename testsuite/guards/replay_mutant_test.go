package guards_test

import (
	"encoding/json"
	"fmt"
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
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"everstep/domain/contract"
	"everstep/testsuite"
	"everstep/testsuite/internal/kept"
	"everstep/worker/host/codec"
)

// reported is a test that keeps what is reported to it.
type reported struct {
	testing.TB
	text string
}

func (*reported) Helper() {}

func (s *reported) Errorf(format string, args ...any) { s.text += fmt.Sprintf(format, args...) }

// replayed is what Replay reports of a history, with those known differences
// that it has.
func replayed(t *testing.T, history *historypb.History, known ...testsuite.Known) string {
	t.Helper()
	heard := &reported{TB: t}
	testsuite.Replay(heard, history, testsuite.ReplayConfig{Hooks: kept.HistoryHooks(), Known: known})
	for _, k := range ownTries() {
		if strings.Contains(heard.text, k.Of+" at "+k.Path+": not recorded") {
			return replayed(t, history, append(known, k)...)
		}
	}
	return heard.text
}

func keptHistory(t *testing.T, name string) *historypb.History {
	t.Helper()
	return readHistory(t, filepath.Join(kept.Histories, name+".json"))
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

// edit changes the object in a payload.
func edit(t *testing.T, payload *commonpb.Payload, change func(object map[string]any)) {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal(payload.Data, &object))
	change(object)
	var err error
	payload.Data, err = json.Marshal(object)
	require.NoError(t, err)
}

// TestReplayCatchesMutants changes what is recorded, one thing at a time, which
// is to a replay what a change of the workflow is. Temporal's replayer notices
// only the activities that changed places.
func TestReplayCatchesMutants(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		history string
		mutate  func(t *testing.T, h *historypb.History)
		want    []string
	}{
		"the calls of a step reversed": {"parallel-tools", func(_ *testing.T, h *historypb.History) {
			calls := scheduled(h, string(contract.CallTool))
			calls[0].Input, calls[2].Input = calls[2].Input, calls[0].Input
		}, []string{
			`event 17, activity agent.CallTool at /arguments: recorded "{\"text\":\"c\"}", now "{\"text\":\"a\"}"`,
			`event 19, activity agent.CallTool at /arguments: recorded "{\"text\":\"a\"}", now "{\"text\":\"c\"}"`,
		}},
		"an argument changed": {"parallel-tools", func(t *testing.T, h *historypb.History) {
			edit(t, scheduled(h, string(contract.CallTool))[1].Input.Payloads[0], func(o map[string]any) {
				o["arguments"] = `{"text":"x"}`
			})
		}, []string{`event 18, activity agent.CallTool at /arguments: recorded "{\"text\":\"x\"}", now "{\"text\":\"b\"}"`}},
		"a field dropped": {"plain", func(t *testing.T, h *historypb.History) {
			edit(t, scheduled(h, string(contract.CallModel))[0].Input.Payloads[0], func(o map[string]any) { o["budget"] = 7 })
		}, []string{`event 11, activity agent.CallModel at /budget: recorded 7, now missing`}},
		"a field added": {"plain", func(t *testing.T, h *historypb.History) {
			edit(t, scheduled(h, string(contract.CallModel))[0].Input.Payloads[0], func(o map[string]any) { delete(o, "execution_id") })
		}, []string{`event 11, activity agent.CallModel at /execution_id: not recorded, now "`}},
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
			`event 11, activity agent.CallTool: is recorded, and now it is activity agent.CallModel`,
			`event 17, activity agent.CallModel: is recorded, and now it is activity agent.CallTool`,
			`Temporal's replayer: `,
		}},
		"a carry": {"continue-as-new-first", func(t *testing.T, h *historypb.History) {
			carried := last(t, h, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW).GetWorkflowExecutionContinuedAsNewEventAttributes()
			edit(t, carried.Input.Payloads[0], func(o map[string]any) { o["carry"].(map[string]any)["tool_calls"] = 6 })
		}, []string{`event 77, carry at /carry/tool_calls: recorded 6, now 5`}},
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history := keptHistory(t, test.history)
			var expected []testsuite.Known
			if test.history == "continue-as-new-first" {
				expected = slices.DeleteFunc(known(), func(k testsuite.Known) bool { return k.Of != "carry" })
			} else if strings.Contains(replayed(t, history), "/effects: not recorded") {
				expected = effectsTold()
			}
			require.Empty(t, replayed(t, history, expected...), "the history as it is")
			test.mutate(t, history)
			text := replayed(t, history, expected...)
			for _, want := range test.want {
				require.Contains(t, text, want)
			}
			require.LessOrEqual(t, len(text), 2000, "a failure is short")
			require.LessOrEqual(t, strings.Count(text, "\n"), len(test.want)+2, text)
		})
	}
}

// TestReplayKnown has each way in which a listed difference holds, and does not.
func TestReplayKnown(t *testing.T) {
	t.Parallel()
	const activity = "activity agent.CallModel"
	for name, test := range map[string]struct {
		known testsuite.Known
		want  string
	}{
		"an added field":           {testsuite.Known{Of: activity, Path: "/execution_id", Why: "new"}, ""},
		"any value, not a new one": {testsuite.Known{Of: activity, Path: "/execution_id", From: "*", To: "2", Why: "new"}, "not recorded"},
		"any key":                  {testsuite.Known{Of: activity, Path: "/*", Why: "new"}, ""},
		"another place":            {testsuite.Known{Of: activity, Path: "/other", Why: "new"}, "at /execution_id: not recorded"},
		"of another":               {testsuite.Known{Of: "memo", Path: "/execution_id", Why: "new"}, "at /execution_id: not recorded"},
		"a change, not a new one":  {testsuite.Known{Of: activity, Path: "/execution_id", From: "1", To: "2", Why: "new"}, "not recorded"},
		"no reason":                {testsuite.Known{Of: activity, Path: "/execution_id"}, "has no reason; say why in Why"},
		"a field that never comes": {testsuite.Known{Of: activity, Path: "/execution_id/x", Why: "new"}, "not recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history := keptHistory(t, "plain")
			edit(t, scheduled(history, string(contract.CallModel))[0].Input.Payloads[0], func(o map[string]any) { delete(o, "execution_id") })
			if test.want == "" {
				require.Empty(t, replayed(t, history, test.known))
				return
			}
			require.Contains(t, replayed(t, history, test.known), test.want)
		})
	}
	t.Run("met no more", func(t *testing.T) {
		t.Parallel()
		added := testsuite.Known{Of: activity, Path: "/execution_id", Why: "new"}
		require.Equal(t, "testsuite: Replay: Known: activity agent.CallModel at /execution_id does not differ; take it off the list",
			replayed(t, keptHistory(t, "plain"), added))
	})
}

// replayedOpen is replayed for a history that reaches as many of the known differences as it does.
func replayedOpen(t *testing.T, history *historypb.History) (report string) {
	t.Helper()
	all := slices.Concat(guessable(), effectsTold())
	for some := range 1 << len(all) {
		var known []testsuite.Known
		for i, one := range all {
			if some>>i&1 == 1 {
				known = append(known, one)
			}
		}
		if report = replayed(t, history, known...); report == "" {
			break
		}
	}
	return report
}

// TestReplayOpen cuts kept histories where a worker would get them: what lies
// beyond is not compared, what lies before is.
func TestReplayOpen(t *testing.T) {
	t.Parallel()
	for _, path := range keptFiles(t) {
		whole := readHistory(t, path)
		for i, event := range whole.Events {
			if event.EventType != enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED || strings.Contains(path, "hooks") {
				continue
			}
			require.Empty(t, replayedOpen(t, &historypb.History{Events: whole.Events[:i+1]}), "%s, up to event %d", path, i+1)
		}
	}
	history := keptHistory(t, "parallel-tools")
	calls := scheduled(history, string(contract.CallTool))
	calls[0].Input, calls[2].Input = calls[2].Input, calls[0].Input
	history.Events = history.Events[:27]
	require.Contains(t, replayed(t, history), "event 17, activity agent.CallTool at /arguments")
}

// TestReplayCompressed has the same inputs as the codec writes long ones.
func TestReplayCompressed(t *testing.T) {
	t.Parallel()
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	compressed := func(input *commonpb.Payloads) *commonpb.Payloads {
		raw, err := proto.Marshal(input.Payloads[0])
		require.NoError(t, err)
		return &commonpb.Payloads{Payloads: []*commonpb.Payload{{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(codec.Encoding)}, Data: encoder.EncodeAll(raw, nil),
		}}}
	}
	history := keptHistory(t, "parallel-tools")
	calls := scheduled(history, string(contract.CallTool))
	for _, call := range calls {
		call.Input = compressed(call.Input)
	}
	require.Empty(t, replayed(t, history, effectsTold()...))
	calls[0].Input, calls[1].Input = calls[1].Input, calls[0].Input
	require.Contains(t, replayed(t, history), `event 17, activity agent.CallTool at /arguments: recorded "{\"text\":\"b\"}"`)
}

// TestReplayRefusesWhatIsNoHistory says so and does not panic.
func TestReplayRefusesWhatIsNoHistory(t *testing.T) {
	t.Parallel()
	require.Contains(t, replayed(t, nil), "the history has no events")
	require.Contains(t, replayed(t, &historypb.History{Events: make([]*historypb.HistoryEvent, 3)}), "is not WorkflowExecutionStarted")
}
