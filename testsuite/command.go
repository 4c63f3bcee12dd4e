package testsuite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	// task is the workflow task: the number of the event that started it.
	task int64
	// event is the recorded event's number.
	event int64
	// kind is what commands are paired by, in order.
	kind commandKind
	// of is what a failure names: the kind and what it is of.
	of    string
	value any
}

type commandKind string

const (
	kindActivity   commandKind = "activity"
	kindChild      commandKind = "child workflow"
	kindSignal     commandKind = "signal"
	kindTimer      commandKind = "timer"
	kindMemo       commandKind = "memo"
	kindAttributes commandKind = "search attributes"
	// kindEnd is the result, the carry, or the failure.
	kindEnd commandKind = "end"
)

func (k commandKind) of(name string) string { return string(k) + " " + name }

// payloadReader makes JSON of payloads.
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
	default:
		return values, nil
	}
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

// command is what an event has recorded, if it is of a command, and the event
// that completed its workflow task.
func (r payloadReader) command(event *historypb.HistoryEvent) (c command, by int64, err error) {
	switch a := event.GetAttributes().(type) {
	case *historypb.HistoryEvent_ActivityTaskScheduledEventAttributes:
		scheduled := a.ActivityTaskScheduledEventAttributes
		c.kind, by = kindActivity, scheduled.GetWorkflowTaskCompletedEventId()
		c.of = c.kind.of(scheduled.GetActivityType().GetName())
		c.value, err = r.read(scheduled.GetInput())
	case *historypb.HistoryEvent_StartChildWorkflowExecutionInitiatedEventAttributes:
		child := a.StartChildWorkflowExecutionInitiatedEventAttributes
		c.kind, by = kindChild, child.GetWorkflowTaskCompletedEventId()
		c.of = c.kind.of(child.GetWorkflowType().GetName())
		c.value, err = r.read(child.GetInput())
	case *historypb.HistoryEvent_SignalExternalWorkflowExecutionInitiatedEventAttributes:
		signal := a.SignalExternalWorkflowExecutionInitiatedEventAttributes
		c.kind, by = kindSignal, signal.GetWorkflowTaskCompletedEventId()
		c.of = c.kind.of(signal.GetSignalName())
		c.value, err = r.read(signal.GetInput())
	case *historypb.HistoryEvent_TimerStartedEventAttributes:
		timer := a.TimerStartedEventAttributes
		c.kind, by = kindTimer, timer.GetWorkflowTaskCompletedEventId()
		c.of, c.value = string(c.kind), timer.GetStartToFireTimeout().AsDuration().String()
	case *historypb.HistoryEvent_WorkflowPropertiesModifiedEventAttributes:
		modified := a.WorkflowPropertiesModifiedEventAttributes
		c.kind, by = kindMemo, modified.GetWorkflowTaskCompletedEventId()
		c.of = string(c.kind)
		c.value, err = r.readMap(modified.GetUpsertedMemo().GetFields())
	case *historypb.HistoryEvent_UpsertWorkflowSearchAttributesEventAttributes:
		upserted := a.UpsertWorkflowSearchAttributesEventAttributes
		if _, versions := upserted.GetSearchAttributes().GetIndexedFields()["TemporalChangeVersion"]; versions {
			return c, 0, nil
		}
		c.kind, by = kindAttributes, upserted.GetWorkflowTaskCompletedEventId()
		c.of = string(c.kind)
		c.value, err = r.readMap(upserted.GetSearchAttributes().GetIndexedFields())
	case *historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes:
		completed := a.WorkflowExecutionCompletedEventAttributes
		c.kind, c.of, by = kindEnd, "result", completed.GetWorkflowTaskCompletedEventId()
		c.value, err = r.read(completed.GetResult())
	case *historypb.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes:
		continued := a.WorkflowExecutionContinuedAsNewEventAttributes
		c.kind, c.of, by = kindEnd, "carry", continued.GetWorkflowTaskCompletedEventId()
		c.value, err = r.read(continued.GetInput())
	case *historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes:
		failed := a.WorkflowExecutionFailedEventAttributes
		c.kind, c.of, by = kindEnd, "failure", failed.GetWorkflowTaskCompletedEventId()
		// Messages of failures pass the codec, in a copy: the history is the caller's.
		failure := proto.CloneOf(failed.GetFailure())
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
}

func (w *replayWatch) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	in := &replayInbound{watch: w}
	in.Next = next
	return in
}

func (w *replayWatch) add(ctx workflow.Context, kind commandKind, of string, value any, err error) {
	if err != nil && w.failed == nil {
		w.failed = fmt.Errorf("encode %s: %w", of, err)
	}
	task := int64(workflow.GetInfo(ctx).GetCurrentHistoryLength())
	w.done = append(w.done, command{task: task, kind: kind, of: of, value: value})
}

// input is encoded at once: what is in it may change later.
func (w *replayWatch) input(ctx workflow.Context, kind commandKind, name string, args ...any) {
	payloads, err := w.reader.converter.ToPayloads(args...)
	if err != nil {
		w.add(ctx, kind, kind.of(name), nil, err)
		return
	}
	value, err := w.reader.read(payloads)
	w.add(ctx, kind, kind.of(name), value, err)
}

func (w *replayWatch) fields(ctx workflow.Context, kind commandKind, fields map[string]any) {
	payloads := make(map[string]*commonpb.Payload, len(fields))
	for key, field := range fields {
		payload, err := w.reader.converter.ToPayload(field)
		if err != nil {
			w.add(ctx, kind, string(kind), nil, err)
			return
		}
		payloads[key] = payload
	}
	value, err := w.reader.readMap(payloads)
	w.add(ctx, kind, string(kind), value, err)
}

type replayInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	watch *replayWatch
}

func (in *replayInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	out := &replayOutbound{watch: in.watch}
	out.Next = next
	return in.Next.Init(out)
}

func (in *replayInbound) ExecuteWorkflow(ctx workflow.Context, input *interceptor.ExecuteWorkflowInput) (any, error) {
	result, err := in.Next.ExecuteWorkflow(ctx, input)
	if continued := new(workflow.ContinueAsNewError); errors.As(err, &continued) {
		carry, wrong := in.watch.reader.read(continued.Input)
		in.watch.add(ctx, kindEnd, "carry", carry, wrong)
		return result, err
	}
	if err != nil {
		failure := temporal.GetDefaultFailureConverter().ErrorToFailure(err)
		in.watch.add(ctx, kindEnd, "failure", failure.GetMessage(), nil)
		return result, err
	}
	payloads, wrong := in.watch.reader.converter.ToPayloads(result)
	if wrong != nil {
		in.watch.add(ctx, kindEnd, "result", nil, wrong)
		return result, err
	}
	value, wrong := in.watch.reader.read(payloads)
	in.watch.add(ctx, kindEnd, "result", value, wrong)
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
		out.watch.add(ctx, kindTimer, string(kindTimer), d.String(), nil)
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
