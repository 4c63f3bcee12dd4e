package client

import (
	"encoding/json"
	"fmt"
	"maps"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"

	commonpb "go.temporal.io/api/common/v1"

	"everstep/domain"
	"everstep/domain/contract"
)

// nora is the named agent of these tests.
var nora = must(agentOf("nora"))

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// nth is the id of nora's n-th execution.
func nth(n int) domain.ExecutionID { return nora.id.Execution("run-1", n) }

// outcomeOf is the outcome of nora's n-th execution.
func outcomeOf(n, steps int) contract.Outcome {
	return contract.Outcome{
		AgentID: nora.id, ExecutionID: nth(n), Number: n, Status: domain.StatusCompleted,
		StopReason: domain.Completed, Steps: steps,
	}
}

// newRun begins a run's history. carry is nil for the first.
func newRun(id string, carry *contract.Carry) *fakeRun {
	r := &fakeRun{id: id, status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING}
	in := contract.SessionInput{AgentID: nora.id, Name: nora.name, Prompt: "go", Carry: carry}
	r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{Input: payloads(in)},
		},
	})
	return r
}

// continues makes the run one that goes on from another.
func (r *fakeRun) continues(previous string) *fakeRun {
	r.events[0].GetWorkflowExecutionStartedEventAttributes().ContinuedExecutionRunId = previous
	return r
}

// inMidst is what a run hands on in the middle of nora's n-th execution.
func inMidst(n, steps int) *contract.Carry {
	state := map[string]any{
		"execution_count": n,
		"execution":       map[string]any{"execution_id": nth(n), "status": "in_progress", "folded": map[string]any{"steps": steps}},
	}
	return &contract.Carry{State: must(json.Marshal(state))}
}

func (r *fakeRun) add(e *historypb.HistoryEvent) int64 {
	e.EventId = int64(len(r.events) + 1)
	e.EventTime = at(len(r.events) + 1)
	r.events = append(r.events, e)
	return e.EventId
}

func (r *fakeRun) schedule(kind string, in any) int64 {
	return r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
		Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
				ActivityId: fmt.Sprint(len(r.events) + 1), ActivityType: &commonpb.ActivityType{Name: kind}, Input: payloads(in),
			},
		},
	})
}

// infers schedules an inference.
func (r *fakeRun) infers(n, step int) int64 {
	return r.schedule(string(contract.CallModel), contract.ModelRequest{ExecutionID: nth(n), Step: step})
}

// completes ends an activity with a result.
func (r *fakeRun) completes(scheduled int64, result any) {
	r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
		Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{
				ScheduledEventId: scheduled, Result: payloads(result),
			},
		},
	})
}

// answers makes a whole inference.
func (r *fakeRun) answers(n, step int, text string, calls ...domain.ToolCall) {
	r.completes(r.infers(n, step), reply(text, calls...))
}

func reply(text string, calls ...domain.ToolCall) contract.ModelReply {
	m := domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: text}}, ToolCalls: calls}
	return contract.ModelReply{Outcome: contract.Answered, Message: &m}
}

// startsAttempt records at which attempt an activity ended, and why the one
// before failed.
func (r *fakeRun) startsAttempt(scheduled int64, attempt int32, why string) {
	r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED,
		Attributes: &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{
			ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{
				ScheduledEventId: scheduled, Attempt: attempt, LastFailure: failure(why),
			},
		},
	})
}

// fallsThrough ends an activity without a result.
func (r *fakeRun) fallsThrough(scheduled int64, why string) {
	r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED,
		Attributes: &historypb.HistoryEvent_ActivityTaskFailedEventAttributes{
			ActivityTaskFailedEventAttributes: &historypb.ActivityTaskFailedEventAttributes{ScheduledEventId: scheduled, Failure: failure(why)},
		},
	})
}

func failure(message string) *failurepb.Failure {
	return &failurepb.Failure{Message: message, FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
		ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{
			Type: string(domain.Unavailable), Details: payloads(domain.Errorf(domain.Unavailable, "%s", message)),
		},
	}}
}

// ends notes in the memo that an execution has ended.
func (r *fakeRun) ends(o contract.Outcome) { r.notes(contract.MemoOutcome, o) }

// sent notes that a message has begun an execution.
func (r *fakeRun) sent(n int) { r.notes(contract.MemoHead, contract.HeadMemo{Number: n}) }

func (r *fakeRun) notes(field string, value any) {
	fields := maps.Clone(r.memo.GetFields())
	if fields == nil {
		fields = map[string]*commonpb.Payload{}
	}
	fields[field] = payloads(value).Payloads[0]
	r.memo = &commonpb.Memo{Fields: fields}
}

// closes ends the run with an event that needs no content.
func (r *fakeRun) closes(how enumspb.EventType) {
	r.status = map[enumspb.EventType]enumspb.WorkflowExecutionStatus{
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:  enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:     enumspb.WORKFLOW_EXECUTION_STATUS_FAILED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:  enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:   enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED,
	}[how]
	r.add(&historypb.HistoryEvent{EventType: how})
}

// handsOn ends the run by continuing as another.
func (r *fakeRun) handsOn(next string) {
	r.status = enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
	r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes{
			WorkflowExecutionContinuedAsNewEventAttributes: &historypb.WorkflowExecutionContinuedAsNewEventAttributes{NewExecutionRunId: next},
		},
	})
}

// loses ends an activity with an error of ours.
func (r *fakeRun) loses(scheduled int64, err *domain.Error) {
	r.fallsThrough(scheduled, err.Message)
	info := r.events[len(r.events)-1].GetActivityTaskFailedEventAttributes().Failure.GetApplicationFailureInfo()
	info.Type, info.Details = string(err.Kind), payloads(err)
}

// signals records a request to stop.
func (r *fakeRun) signals(request contract.StopRequest) {
	r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
			WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{
				SignalName: string(contract.SignalStop), Input: payloads(request),
			},
		},
	})
}
