package testsuite

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"
)

// A command is what a workflow handed on, or what the history has of it.
type command struct {
	task  int64 // the event that started the workflow task
	event int64 // the recorded one
	// kind is what commands are paired by, in order, of what a failure names.
	kind  commandKind
	of    string
	value any
}

type commandKind string

const (
	kindActivity   commandKind = "activity"
	kindChild      commandKind = "child workflow"
	kindSignal     commandKind = "signal"
	kindHook       commandKind = "reply"
	kindTimer      commandKind = "timer"
	kindMemo       commandKind = "memo"
	kindAttributes commandKind = "search attributes"
	// kindEnd is the result, the carry, or the failure.
	kindEnd commandKind = "end"
)

func (k commandKind) of(name string) string {
	if k == kindEnd {
		return name
	}
	return strings.TrimSpace(string(k) + " " + name)
}

type payloadReader struct{ converter converter.DataConverter }

// read is one value, or a list of several.
func (r payloadReader) read(payloads *commonpb.Payloads) (any, error) {
	values := make([]any, len(payloads.GetPayloads()))
	for i, payload := range payloads.GetPayloads() {
		var err error
		if values[i], err = r.readOne(payload); err != nil {
			return nil, err
		}
	}
	switch len(values) {
	case 0:
		return nil, nil
	case 1:
		return values[0], nil
	}
	return values, nil
}

func (r payloadReader) readOne(payload *commonpb.Payload) (any, error) {
	var raw converter.RawValue
	if err := r.converter.FromPayload(payload, &raw); err != nil {
		return nil, err
	}
	switch data := raw.Payload().GetData(); string(raw.Payload().GetMetadata()[converter.MetadataEncoding]) {
	case converter.MetadataEncodingNil:
		return nil, nil
	case converter.MetadataEncodingJSON, converter.MetadataEncodingProtoJSON:
		var value any
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		err := decoder.Decode(&value)
		return value, err
	default:
		return string(data), nil
	}
}

func (r payloadReader) readMap(payloads map[string]*commonpb.Payload) (any, error) {
	values := make(map[string]any, len(payloads))
	for key, payload := range payloads {
		value, err := r.readOne(payload)
		if err != nil {
			return nil, err
		}
		// A search attribute that is taken away is null in a history, and not
		// to be seen in an update.
		if value != nil {
			values[key] = value
		}
	}
	return values, nil
}

// recorded are a history's commands, in order, and its finished workflow tasks.
func (r payloadReader) recorded(history *historypb.History) (all []command, finished map[int64]bool, err error) {
	if len(history.GetEvents()) == 0 {
		return nil, nil, errors.New("the history has no events")
	}
	tasks := map[int64]int64{}
	finished = map[int64]bool{}
	for _, event := range history.GetEvents() {
		if done := event.GetWorkflowTaskCompletedEventAttributes(); done != nil {
			tasks[event.GetEventId()] = done.GetStartedEventId()
			finished[done.GetStartedEventId()] = true
			continue
		}
		c, by, err := r.command(event)
		if err != nil {
			return nil, nil, fmt.Errorf("event %d: %w", event.GetEventId(), err)
		}
		if c.kind != "" {
			c.event, c.task = event.GetEventId(), tasks[by]
			all = append(all, c)
		}
	}
	return all, finished, nil
}

// command is what an event has recorded, if anything, and the event that completed its task.
func (r payloadReader) command(event *historypb.HistoryEvent) (c command, by int64, err error) {
	// Each has its own type, and all name the task.
	is := func(of interface{ GetWorkflowTaskCompletedEventId() int64 }, kind commandKind, name string, value *commonpb.Payloads) {
		c.kind, c.of, by = kind, kind.of(name), of.GetWorkflowTaskCompletedEventId()
		c.value, err = r.read(value)
	}
	switch event.GetAttributes().(type) {
	case *historypb.HistoryEvent_ActivityTaskScheduledEventAttributes:
		a := event.GetActivityTaskScheduledEventAttributes()
		is(a, kindActivity, a.GetActivityType().GetName(), a.GetInput())
	case *historypb.HistoryEvent_StartChildWorkflowExecutionInitiatedEventAttributes:
		a := event.GetStartChildWorkflowExecutionInitiatedEventAttributes()
		is(a, kindChild, a.GetWorkflowType().GetName(), a.GetInput())
	case *historypb.HistoryEvent_SignalExternalWorkflowExecutionInitiatedEventAttributes:
		a := event.GetSignalExternalWorkflowExecutionInitiatedEventAttributes()
		is(a, kindSignal, a.GetSignalName(), a.GetInput())
	case *historypb.HistoryEvent_MarkerRecordedEventAttributes:
		a := event.GetMarkerRecordedEventAttributes()
		if a.GetMarkerName() != "MutableSideEffect" {
			break
		}
		var id string
		var reply commonpb.Payloads
		if err = r.converter.FromPayloads(a.GetDetails()["data"], &id, &reply); err == nil {
			is(a, kindHook, id, &reply)
		}
	case *historypb.HistoryEvent_TimerStartedEventAttributes:
		a := event.GetTimerStartedEventAttributes()
		is(a, kindTimer, "", nil)
		c.value = a.GetStartToFireTimeout().AsDuration().String()
	case *historypb.HistoryEvent_WorkflowPropertiesModifiedEventAttributes:
		a := event.GetWorkflowPropertiesModifiedEventAttributes()
		is(a, kindMemo, "", nil)
		c.value, err = r.readMap(a.GetUpsertedMemo().GetFields())
	case *historypb.HistoryEvent_UpsertWorkflowSearchAttributesEventAttributes:
		a := event.GetUpsertWorkflowSearchAttributesEventAttributes()
		fields := a.GetSearchAttributes().GetIndexedFields()
		if _, versions := fields["TemporalChangeVersion"]; !versions {
			is(a, kindAttributes, "", nil)
			c.value, err = r.readMap(fields)
		}
	case *historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes:
		a := event.GetWorkflowExecutionCompletedEventAttributes()
		is(a, kindEnd, "result", a.GetResult())
	case *historypb.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes:
		a := event.GetWorkflowExecutionContinuedAsNewEventAttributes()
		is(a, kindEnd, "carry", a.GetInput())
	case *historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes:
		a := event.GetWorkflowExecutionFailedEventAttributes()
		is(a, kindEnd, "failure", nil)
		// Messages of failures pass the codec, in a copy: the history is the caller's.
		failure := proto.CloneOf(a.GetFailure())
		converter.DecodeCommonFailureAttributes(r.converter, failure)
		c.value = failure.GetMessage()
	}
	return c, by, err
}

// replayWatch remembers what a workflow hands on while it is replayed.
type replayWatch struct {
	interceptor.WorkerInterceptorBase
	reader payloadReader
	done   []command
	failed error
	// replies are the last ones of hooks, by id.
	replies map[string]string
}

func (w *replayWatch) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &replayInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, w}
}

func (w *replayWatch) add(ctx workflow.Context, kind commandKind, name string, value any, err error) {
	if err != nil && w.failed == nil {
		w.failed = fmt.Errorf("encode %s: %w", kind.of(name), err)
	}
	task := int64(workflow.GetInfo(ctx).GetCurrentHistoryLength())
	w.done = append(w.done, command{task: task, kind: kind, of: kind.of(name), value: value})
}

// input is encoded at once: what is in it may change later.
func (w *replayWatch) input(ctx workflow.Context, kind commandKind, name string, args ...any) {
	var value any
	payloads, err := w.reader.converter.ToPayloads(args...)
	if err == nil {
		value, err = w.reader.read(payloads)
	}
	w.add(ctx, kind, name, value, err)
}

func (w *replayWatch) fields(ctx workflow.Context, kind commandKind, fields map[string]any) {
	payloads := make(map[string]*commonpb.Payload, len(fields))
	var failed error
	for key, field := range fields {
		payload, err := w.reader.converter.ToPayload(field)
		payloads[key], failed = payload, cmp.Or(failed, err)
	}
	value, err := w.reader.readMap(payloads)
	w.add(ctx, kind, "", value, cmp.Or(failed, err))
}

type replayInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	watch *replayWatch
}

func (in *replayInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return in.Next.Init(&replayOutbound{interceptor.WorkflowOutboundInterceptorBase{Next: next}, in.watch})
}

func (in *replayInbound) ExecuteWorkflow(ctx workflow.Context, input *interceptor.ExecuteWorkflowInput) (any, error) {
	result, err := in.Next.ExecuteWorkflow(ctx, input)
	continued, carries := errors.AsType[*workflow.ContinueAsNewError](err)
	switch {
	case carries:
		carry, wrong := in.watch.reader.read(continued.Input)
		in.watch.add(ctx, kindEnd, "carry", carry, wrong)
	case err != nil:
		failure := temporal.GetDefaultFailureConverter().ErrorToFailure(err)
		in.watch.add(ctx, kindEnd, "failure", failure.GetMessage(), nil)
	default:
		in.watch.input(ctx, kindEnd, "result", result)
	}
	return result, err
}

type replayOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	watch *replayWatch
}

func (out *replayOutbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	out.watch.input(ctx, kindActivity, name, args...)
	return out.Next.ExecuteActivity(ctx, name, args...)
}

func (out *replayOutbound) ExecuteChildWorkflow(ctx workflow.Context, name string, args ...any) workflow.ChildWorkflowFuture {
	out.watch.input(ctx, kindChild, name, args...)
	return out.Next.ExecuteChildWorkflow(ctx, name, args...)
}

func (out *replayOutbound) SignalExternalWorkflow(ctx workflow.Context, workflowID, runID, name string, arg any) workflow.Future {
	out.watch.input(ctx, kindSignal, name, arg)
	return out.Next.SignalExternalWorkflow(ctx, workflowID, runID, name, arg)
}

func (out *replayOutbound) SignalChildWorkflow(ctx workflow.Context, workflowID, name string, arg any) workflow.Future {
	out.watch.input(ctx, kindSignal, name, arg)
	return out.Next.SignalChildWorkflow(ctx, workflowID, name, arg)
}

// MutableSideEffect leaves out what is as it was: no event comes of it.
func (out *replayOutbound) MutableSideEffect(ctx workflow.Context, id string, f func(workflow.Context) any, equals func(a, b any) bool) converter.EncodedValue {
	value := out.Next.MutableSideEffect(ctx, id, f, equals)
	var reply json.RawMessage
	if err := value.Get(&reply); err != nil {
		out.watch.add(ctx, kindHook, id, nil, err)
		return value
	}
	if last, known := out.watch.replies[id]; !known || last != string(reply) {
		out.watch.replies[id] = string(reply)
		out.watch.input(ctx, kindHook, id, reply)
	}
	return value
}

func (out *replayOutbound) NewTimer(ctx workflow.Context, d time.Duration) workflow.Future {
	out.timer(ctx, d)
	return out.Next.NewTimer(ctx, d)
}

func (out *replayOutbound) NewTimerWithOptions(ctx workflow.Context, d time.Duration, options workflow.TimerOptions) workflow.Future {
	out.timer(ctx, d)
	return out.Next.NewTimerWithOptions(ctx, d, options)
}

// timer leaves out what is over at once: no event comes of it.
func (out *replayOutbound) timer(ctx workflow.Context, d time.Duration) {
	if d > 0 {
		out.watch.add(ctx, kindTimer, "", d.String(), nil)
	}
}

func (out *replayOutbound) UpsertMemo(ctx workflow.Context, memo map[string]any) error {
	out.watch.fields(ctx, kindMemo, memo)
	return out.Next.UpsertMemo(ctx, memo)
}

func (out *replayOutbound) UpsertTypedSearchAttributes(ctx workflow.Context, updates ...temporal.SearchAttributeUpdate) error {
	fields := map[string]any{}
	for key, value := range temporal.NewSearchAttributes(updates...).GetUntypedValues() {
		fields[key.GetName()] = value
	}
	out.watch.fields(ctx, kindAttributes, fields)
	return out.Next.UpsertTypedSearchAttributes(ctx, updates...)
}
