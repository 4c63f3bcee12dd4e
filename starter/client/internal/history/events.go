package history

import (
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// FailedTask adds to a workflow task that fails why a worker could not complete the newest one that no worker has completed since,
// unless the reason is usual, and which worker of which build that was.
func FailedTask(c converter.DataConverter, events []*historypb.HistoryEvent, task *account.FailingTask) {
	failed := false
	for _, e := range slices.Backward(events) {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			return
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
			if build := buildOf(e); failed && build != "" {
				task.Build = build
				return
			}
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
			if a := e.GetWorkflowTaskFailedEventAttributes(); !failed && !slices.Contains(usual, a.GetCause()) {
				failed, task.Failure, task.Worker = true, message(c, a.GetFailure()), a.GetIdentity()
			}
		default:
		}
	}
}

// usual are the causes for which workflow tasks fail without a fault of a worker.
var usual = []enumspb.WorkflowTaskFailedCause{
	enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
	enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_STICKY_TASK_QUEUE,
	enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
	enumspb.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
	enumspb.WORKFLOW_TASK_FAILED_CAUSE_FAILOVER_CLOSE_COMMAND,
}

// NewestReset is where a run was reset last: what came before stands in an earlier run too. Nil: it was not reset.
func NewestReset(events []*historypb.HistoryEvent) *account.Reset {
	for _, e := range slices.Backward(events) {
		if a := e.GetWorkflowTaskFailedEventAttributes(); a.GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW {
			return &account.Reset{RunID: a.GetBaseRunId(), Event: e.GetEventId(), At: e.GetEventTime().AsTime()}
		}
	}
	return nil
}

// NewestBuild is that of the worker which has completed the newest workflow task of a run; empty: none has, or it did not say.
func NewestBuild(events []*historypb.HistoryEvent) string {
	if i := lastTask(events); i > 0 {
		return buildOf(events[i-1])
	}
	return ""
}

// lastTask is where the newest workflow task that a worker has completed stands among events; negative: nowhere.
func lastTask(events []*historypb.HistoryEvent) int {
	for i, e := range slices.Backward(events) {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			return i
		}
	}
	return -1
}

// buildOf is that of the worker which has begun a workflow task.
func buildOf(started *historypb.HistoryEvent) string {
	build := started.GetWorkflowTaskStartedEventAttributes().GetWorkerVersion().GetBuildId() //nolint:staticcheck // the newer field is for versioned deployments
	return domain.Shorten(build, maxBuild)
}

// ContinueSuggested reports whether the server has suggested to the newest workflow task that the run continues as new.
func ContinueSuggested(events []*historypb.HistoryEvent) bool {
	for _, e := range slices.Backward(events) {
		if a := e.GetWorkflowTaskStartedEventAttributes(); a != nil {
			return a.GetSuggestContinueAsNew()
		}
	}
	return false
}

// Stops are the requests to stop an execution that events tell of, those by the server's own tools too.
func Stops(c converter.DataConverter, events []*historypb.HistoryEvent) (stops []contract.StopRequest) {
	for _, e := range events {
		signal := e.GetWorkflowExecutionSignaledEventAttributes()
		switch {
		case signal.GetSignalName() == string(contract.SignalStop):
			var data []byte
			if value, err := decode[converter.RawValue](c, signal.GetInput()); err == nil {
				data = value.Payload().GetData()
			}
			stops = append(stops, contract.ReadStop(data))
		case e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
			stops = append(stops, contract.ServerStop())
		}
	}
	return stops
}

// Children are the ids of the workflows that a run was to start.
func Children(events []*historypb.HistoryEvent) (ids []string) {
	for _, e := range events {
		if a := e.GetStartChildWorkflowExecutionInitiatedEventAttributes(); a != nil {
			ids = append(ids, a.GetWorkflowId())
		}
	}
	return ids
}

// Replies are what an activity has answered in a run, each time that it ended well; zero where that cannot be read.
func Replies[In, Out any](c converter.DataConverter, events []*historypb.HistoryEvent, activity contract.Activity[In, Out]) (replies []Out) {
	for _, e := range events {
		done := e.GetActivityTaskCompletedEventAttributes()
		if done == nil || scheduled(events, done.GetScheduledEventId()).GetActivityType().GetName() != string(activity) {
			continue
		}
		reply, err := decode[Out](c, done.GetResult())
		if err != nil {
			reply = new(Out)
		}
		replies = append(replies, *reply)
	}
	return replies
}

// scheduled is the request of an activity by the event that made it, where the events of a run up to it are there; nil: it is not
// among them.
func scheduled(events []*historypb.HistoryEvent, id int64) *historypb.ActivityTaskScheduledEventAttributes {
	if id < 1 || id > int64(len(events)) {
		return nil
	}
	return events[id-1].GetActivityTaskScheduledEventAttributes()
}

// LastAnswer is the text of the last inference that has ended, of an execution or, where that is zero, of any, and the event
// which has it; zero: there is none. It looks at the events alone, whichever workflow has written them. What cannot be decoded is passed over.
func LastAnswer(c converter.DataConverter, events []*historypb.HistoryEvent, of domain.ExecutionID) (text string, event int64) {
	for _, e := range slices.Backward(events) {
		done := e.GetActivityTaskCompletedEventAttributes()
		asked := scheduled(events, done.GetScheduledEventId())
		if asked.GetActivityType().GetName() != string(contract.CallModel) {
			continue
		}
		request, err := decode[contract.ModelRequest](c, asked.GetInput())
		if err == nil && (request.Summary != nil || !of.IsZero() && request.ExecutionID != of) {
			continue
		}
		if reply, err := decode[contract.ModelReply](c, done.GetResult()); err == nil && reply.Message != nil {
			return reply.Message.Text(), e.GetEventId()
		}
	}
	return "", 0
}

// Ends reports whether an event ends a run.
func Ends(e *historypb.HistoryEvent) bool {
	return slices.Contains([]enumspb.EventType{
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
	}, e.GetEventType())
}

// A RunBegan says what a run of the workflow was started with, or took over.
type RunBegan struct {
	// Input is zero where it cannot be read, or is that of another workflow.
	Input contract.SessionInput
	// Continues is the run of the same workflow that it goes on from, if any.
	Continues string
}

// Previous is the run that it goes on from, if any, of an earlier workflow too.
func (r RunBegan) Previous() string {
	switch in := r.Input; {
	case r.Continues != "":
	case in.GoOn != nil:
		return in.GoOn.RunID
	case in.ResolveOutcome != nil:
		return in.ResolveOutcome.RunID
	}
	return r.Continues
}

// Readable reports whether what it began with could be read.
func (r RunBegan) Readable() bool { return !r.Input.AgentID.IsZero() }

// Began reads with what a run began: its first event.
func Began(c converter.DataConverter, first *historypb.HistoryEvent) RunBegan {
	a := first.GetWorkflowExecutionStartedEventAttributes()
	began := RunBegan{Continues: a.GetContinuedExecutionRunId()}
	if name := a.GetWorkflowType().GetName(); name != "" && name != string(contract.Execute) {
		return began
	}
	if in, err := decode[contract.SessionInput](c, a.GetInput()); err == nil {
		began.Input = *in
	}
	return began
}

// A RunEnded says that a run of the workflow has ended.
type RunEnded struct {
	// Terminated says that somebody has ended it with the server's own tools, of which a reset is one.
	Terminated bool
	// Why is what a run that has failed said in the end.
	Why string
	// Next is the run that goes on, where the workflow continues as new.
	Next string
	// Outcome is the workflow's result, where it has one that can be read, with what of it tells the end and the calls of unknown
	// outcome that are resolved.
	Outcome *contract.Outcome
}

// ended reads how a run has ended from its last event; false: it is none.
func ended(c converter.DataConverter, e *historypb.HistoryEvent) (end RunEnded, ok bool) {
	if !Ends(e) {
		return end, false
	}
	end.Terminated = e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED
	end.Why = message(c, e.GetWorkflowExecutionFailedEventAttributes().GetFailure())
	end.Next = e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	if outcome, err := decode[contract.Outcome](c, e.GetWorkflowExecutionCompletedEventAttributes().GetResult()); err == nil && outcome.Number > 0 {
		end.Outcome = outcome
	}
	return end, true
}

// decode reads the first of some payloads; nil beside an error.
func decode[T any](c converter.DataConverter, payloads *commonpb.Payloads) (*T, error) {
	list := payloads.GetPayloads()
	if len(list) == 0 {
		return nil, domain.Invalidf("it is empty")
	}
	value := new(T)
	if err := c.FromPayload(list[0], value); err != nil {
		return nil, err
	}
	return value, nil
}

// message is that of a failure, which may be encoded.
func message(c converter.DataConverter, f *failurepb.Failure) string {
	if f.GetEncodedAttributes() == nil {
		return f.GetMessage()
	}
	told := proto.Clone(f).(*failurepb.Failure)
	converter.DecodeCommonFailureAttributes(c, told)
	return told.GetMessage()
}
