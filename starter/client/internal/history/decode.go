package history

import (
	"fmt"
	"iter"
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

// A decoder makes facts of the events of one run, in their order. What cannot be read becomes a fact too. It is used by one
// goroutine.
type decoder struct {
	converter converter.DataConverter
	run       string
	// last is the id of the event before; zero at the beginning.
	last int64
	// open is the work that has not ended, by the event that asked for it.
	open map[int64]Work
}

func newDecoder(c converter.DataConverter, run string) *decoder {
	return &decoder{converter: c, run: run, open: map[int64]Work{}}
}

// decode yields the facts of the next events, a gap before them included. The decoder remembers the events: range over them once and to the end, or use it no more.
func (d *decoder) decode(events []*historypb.HistoryEvent) iter.Seq[Recorded] {
	return func(yield func(Recorded) bool) {
		for _, event := range events {
			for _, fact := range append(d.gap(event), d.facts(event)...) {
				if !yield(Recorded{Fact: fact, At: event.GetEventTime().AsTime(), Run: d.run, Event: event.GetEventId()}) {
					return
				}
			}
		}
	}
}

// gap says that events before this one are missing.
func (d *decoder) gap(event *historypb.HistoryEvent) []Fact {
	id, last := event.GetEventId(), d.last
	d.last = id
	// A workflow task that failed is shown without being recorded, so that its
	// events' ids may come again.
	if id <= last+1 {
		return nil
	}
	what := fmt.Sprintf("what stood between events %d and %d", last, id)
	if last == 0 {
		what = fmt.Sprintf("what stood before event %d", id)
	}
	return one(Unreadable{What: what, Why: "the history has a gap there"})
}

// facts are what an event by itself tells.
func (d *decoder) facts(event *historypb.HistoryEvent) []Fact {
	kind := event.GetEventType()
	switch kind {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		return d.began(event)
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
		return one(TaskBegan{Suggested: event.GetWorkflowTaskStartedEventAttributes().GetSuggestContinueAsNew(), Build: buildOf(event)})
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
		return one(TaskDone{})
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		if a := event.GetWorkflowExecutionSignaledEventAttributes(); a.GetSignalName() == string(contract.SignalStop) {
			return one(StopAsked{Request: contract.ReadStop(d.raw(a.GetInput()))})
		}
	case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		return d.childAsked(event)
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
		return one(StopForced{})
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		return d.scheduled(event)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		return d.attempted(event.GetActivityTaskStartedEventAttributes())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		a := event.GetActivityTaskCompletedEventAttributes()
		return d.of(a.GetScheduledEventId(), true, func(w Work) []Fact { return d.completed(w, a.GetResult()) })
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := event.GetActivityTaskFailedEventAttributes()
		return d.lost(a.GetScheduledEventId(), d.loss(a.GetFailure(), contract.Broke))
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		a := event.GetActivityTaskTimedOutEventAttributes()
		loss := d.loss(a.GetFailure(), contract.TimedOut)
		loss.Exhausted = a.GetRetryState() == enumspb.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED
		return d.lost(a.GetScheduledEventId(), loss)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		return d.lost(event.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(), contract.Loss{How: contract.Cancelled})
	default:
		if _, closes := ends[kind]; closes {
			return d.closed(event)
		}
	}
	return nil
}

func one(fact Fact) []Fact { return []Fact{fact} }

func unreadable(what string, why error) []Fact {
	return one(Unreadable{What: what, Why: why.Error()})
}

// began reads with what a run began; it has begun even where that cannot be read.
func (d *decoder) began(event *historypb.HistoryEvent) []Fact {
	a := event.GetWorkflowExecutionStartedEventAttributes()
	fact := RunBegan{Run: d.run, Continues: a.GetContinuedExecutionRunId(), Size: proto.Size(event)}
	if name := a.GetWorkflowType().GetName(); name != "" && name != string(contract.Execute) {
		return append(unreadable("the workflow", fmt.Errorf("it is a %q and no agent's", domain.Shorten(name, 64))), fact)
	}
	in, err := decode[contract.SessionInput](d.converter, a.GetInput())
	if err != nil {
		return append(unreadable("what the run began with", err), fact)
	}
	fact.Input = *in
	return one(fact)
}

// FailedTask is why a worker could not complete the newest workflow task that no worker has completed since, unless the reason is
// usual, and by which build; nil: there is none.
func FailedTask(c converter.DataConverter, events []*historypb.HistoryEvent) (failed *TaskFailed) {
	for _, e := range slices.Backward(events) {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			return failed
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
			if build := buildOf(e); failed != nil && build != "" {
				failed.Build = build
				return failed
			}
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
			if a := e.GetWorkflowTaskFailedEventAttributes(); failed == nil && !slices.Contains(usual, a.GetCause()) {
				failed = &TaskFailed{Why: newDecoder(c, "").message(a.GetFailure()), Worker: a.GetIdentity()}
			}
		default:
		}
	}
	return failed
}

// usual are the causes for which workflow tasks fail without a fault of a worker.
var usual = []enumspb.WorkflowTaskFailedCause{
	enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
	enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_STICKY_TASK_QUEUE,
	enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
	enumspb.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
	enumspb.WORKFLOW_TASK_FAILED_CAUSE_FAILOVER_CLOSE_COMMAND,
}

// NewestReset is where a run was reset last: what came before stands in an earlier run too. False: it was not reset.
func NewestReset(events []*historypb.HistoryEvent) (reset account.Reset, ok bool) {
	for _, e := range slices.Backward(events) {
		if a := e.GetWorkflowTaskFailedEventAttributes(); a.GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW {
			return account.Reset{RunID: a.GetBaseRunId(), Event: e.GetEventId(), At: e.GetEventTime().AsTime()}, true
		}
	}
	return reset, false
}

// ends are the events that end a run.
var ends = map[enumspb.EventType]contract.RunEnd{
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:        contract.RunCompleted,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:           contract.RunFailed,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:        contract.RunTimedOut,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:         contract.RunCancelled,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:       contract.RunTerminated,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW: contract.RunContinued,
}

// NewestBuild is that of the worker which has completed the newest workflow task of a run; empty: none has, or it did not say.
func NewestBuild(events []*historypb.HistoryEvent) string {
	for i, e := range slices.Backward(events) {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED && i > 0 {
			return buildOf(events[i-1])
		}
	}
	return ""
}

// buildOf is that of the worker which has begun a workflow task.
func buildOf(started *historypb.HistoryEvent) string {
	build := started.GetWorkflowTaskStartedEventAttributes().GetWorkerVersion().GetBuildId() //nolint:staticcheck // the newer field is for versioned deployments
	return domain.Shorten(build, maxBuild)
}

// HasEnded reports whether the events of a run go to its end.
func HasEnded(events []*historypb.HistoryEvent) bool {
	if len(events) == 0 {
		return false
	}
	_, closes := ends[events[len(events)-1].GetEventType()]
	return closes
}

var endsByStatus = map[enumspb.WorkflowExecutionStatus]contract.RunEnd{
	enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:     contract.RunFailed,
	enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:  contract.RunTimedOut,
	enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:   contract.RunCancelled,
	enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED: contract.RunTerminated,
}

// ServerEnd is how the server itself ended a workflow, by its status, if it did.
func ServerEnd(status enumspb.WorkflowExecutionStatus) (o contract.Outcome, ok bool) {
	return endsByStatus[status].Outcome()
}

func (d *decoder) closed(event *historypb.HistoryEvent) []Fact {
	fact := RunEnded{
		How:  ends[event.GetEventType()],
		Next: event.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId(),
	}
	if result := event.GetWorkflowExecutionCompletedEventAttributes().GetResult(); result != nil {
		outcome, err := decode[contract.Outcome](d.converter, result)
		if err != nil {
			return append(unreadable("the workflow's result", err), fact)
		}
		if outcome.Number > 0 {
			fact.Outcome, fact.End, fact.Settled = outcome, outcome.End, outcome.Settled
			outcome.End, outcome.Settled = nil, nil
		}
	}
	return one(fact)
}

// decode reads the first of some payloads; nil beside an error.
func decode[T any](c converter.DataConverter, payloads *commonpb.Payloads) (*T, error) {
	list := payloads.GetPayloads()
	if len(list) == 0 {
		return nil, domain.Errorf(domain.Invalid, "it is empty")
	}
	value := new(T)
	if err := c.FromPayload(list[0], value); err != nil {
		return nil, err
	}
	return value, nil
}

// raw are the bytes of the first of some payloads; nil where they cannot be read.
func (d *decoder) raw(payloads *commonpb.Payloads) []byte {
	value, err := decode[converter.RawValue](d.converter, payloads)
	if err != nil {
		return nil
	}
	return value.Payload().GetData()
}

func (d *decoder) message(f *failurepb.Failure) string {
	if f.GetEncodedAttributes() == nil {
		return f.GetMessage()
	}
	told := proto.Clone(f).(*failurepb.Failure)
	converter.DecodeCommonFailureAttributes(d.converter, told)
	return told.GetMessage()
}
