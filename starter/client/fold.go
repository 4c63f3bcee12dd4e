package client

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"everstep/domain"
)

// A fold turns the events of a chain of runs, in order, into what happened to
// the agent. It is used by one goroutine.
type fold struct {
	reader   reader
	snapshot snapshot
	runID    string
	// number is the newest execution, running whether it is in progress, step
	// its newest step.
	number  int
	running bool
	step    int
	// work are the activities that have not ended, by the event that scheduled
	// them.
	work map[int64]*activity
	// cut is why the inference before failed.
	cut *domain.Error
	// rewriter is a hook that may rewrite what the model says, and withheld
	// whether it was told that nothing of that is shown.
	rewriter string
	withheld bool
	// halt is since when a stop lets nothing go on, zero where none does.
	halt time.Time
	// summing says that the newest inference is for a summary.
	summing bool
	// asked are the tool calls of the newest answer, which came in run askedIn,
	// and begun those of them that were begun, by position.
	asked   []domain.ToolCall
	askedIn string
	begun   map[int]bool
	out     []Event
	now     time.Time
}

func newFold(r reader, s snapshot) *fold {
	return &fold{reader: r, snapshot: s, work: map[int64]*activity{}, begun: map[int]bool{}}
}

// take returns what an event means; most mean nothing.
func (f *fold) take(runID string, event *historypb.HistoryEvent) []Event {
	f.out, f.now, f.runID = nil, event.GetEventTime().AsTime(), runID
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		f.started(event.GetWorkflowExecutionStartedEventAttributes())
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
		if reply, ok := f.reader.began(event.GetWorkflowExecutionUpdateCompletedEventAttributes()); ok {
			f.began(reply.Number)
		}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		f.signaled(event.GetWorkflowExecutionSignaledEventAttributes())
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
		f.halt = f.now
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
		f.taskFailed(event.GetWorkflowTaskFailedEventAttributes())
	case enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED:
		if outcome, ok := f.reader.ending(event); ok {
			f.ended(outcome)
		}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		f.emit(Event{Type: EventContinued, RunID: event.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()})
	default:
		if closes(event.GetEventType()) {
			f.closed(event)
		} else {
			f.activity(event)
		}
	}
	return f.out
}

// emit adds an event, with what all events have.
func (f *fold) emit(e Event) {
	e.Time, e.Number = f.now, f.number
	f.out = append(f.out, e)
}

// started begins a run: the first execution, or what the run took over.
func (f *fold) started(a *historypb.WorkflowExecutionStartedEventAttributes) {
	clear(f.work)
	took := carriedExecution{number: 1, begins: true}
	if in, ok := f.reader.input(a); ok {
		took = carried(in)
		if in.Carry != nil && in.Carry.Resolved != nil {
			f.rewriter = domain.Rewriter(in.Carry.Resolved.Hooks)
		}
	}
	if took.begins {
		f.number, f.step = took.number-1, 0
		f.began(took.number)
		return
	}
	f.number = max(f.number, took.number)
	f.running = !took.open.IsZero()
	f.step = max(f.step, took.step)
}

// began notes the beginning of an execution, which several events may tell.
func (f *fold) began(number int) {
	if number <= f.number {
		return
	}
	f.number, f.running, f.step, f.cut, f.asked = number, true, 0, nil, nil
	f.withheld, f.halt = false, time.Time{}
	f.emit(Event{Type: EventBegan, ExecutionID: f.executionID(), RunID: f.runID})
}

func (f *fold) executionID() domain.ExecutionID { return f.snapshot.executionID(f.number) }

// noted makes sure that an execution is known which an activity belongs to: the
// activity may be recorded before the answer to the message that began it.
func (f *fold) noted(id domain.ExecutionID) {
	if !id.IsZero() && id == f.snapshot.executionID(f.number+1) {
		f.began(f.number + 1)
	}
}

// ended notes the end of an execution, once.
func (f *fold) ended(o domain.Outcome) {
	if o.Number < f.number || o.Number == f.number && !f.running {
		return
	}
	if o.Number == f.number {
		f.unbegun()
	}
	f.number, f.running = o.Number, false
	f.emit(Event{Type: EventEnded, ExecutionID: o.ExecutionID, Ended: &o})
}

// closed notes the end of the workflow, and of the execution that the server
// ended with it.
func (f *fold) closed(event *historypb.HistoryEvent) {
	if outcome, ok := f.reader.ending(event); ok {
		f.ended(outcome)
	} else if cut, byServer := serverEnd(statusOf(event.GetEventType())); byServer && f.running {
		cut.AgentID, cut.ExecutionID, cut.Number, cut.Steps = f.snapshot.id, f.executionID(), f.number, max(f.step-1, 0)
		f.ended(cut)
	}
	f.running = false
	f.emit(Event{Type: EventClosed})
}

// signaled notes a stop, unless it meant another execution.
func (f *fold) signaled(a *historypb.WorkflowExecutionSignaledEventAttributes) {
	if a.GetSignalName() != string(domain.SignalStop) || !f.running {
		return
	}
	request, ok := decoded[domain.StopRequest](f.reader, a.GetInput())
	if !ok {
		request = domain.StopRequest{} // the workflow takes it in the default mode
	}
	if id := request.ExecutionID; !id.IsZero() && id != f.executionID() {
		return
	}
	if request.Mode == "" {
		request.Mode = domain.AfterStep
	}
	if request.Mode == domain.StopNow {
		f.halts(f.now)
	} else if within := time.Duration(request.Within); within > 0 {
		f.halts(f.now.Add(within))
	}
	f.emit(Event{Type: EventStopAsked, Mode: request.Mode, Reason: request.Reason})
}

// halts notes a stop of all that is in flight, unless another comes before it.
func (f *fold) halts(at time.Time) {
	if f.halt.IsZero() || at.Before(f.halt) {
		f.halt = at
	}
}

// halted reports whether a stop let nothing go on by now.
func (f *fold) halted() bool { return !f.halt.IsZero() && !f.now.Before(f.halt) }

// taskFailed notes that a worker could not carry the workflow on.
func (f *fold) taskFailed(a *historypb.WorkflowTaskFailedEventAttributes) {
	if why, ok := troubleOf(a); ok {
		f.emit(Event{Type: EventTrouble, Reason: "a workflow task failed: " + why})
	}
}

// troubleOf says why a worker could not carry a workflow on. It reports false
// where a task failed on purpose, or as is usual.
func troubleOf(a *historypb.WorkflowTaskFailedEventAttributes) (string, bool) {
	switch a.GetCause() {
	case enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
		enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_STICKY_TASK_QUEUE,
		enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
		enumspb.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
		enumspb.WORKFLOW_TASK_FAILED_CAUSE_FAILOVER_CLOSE_COMMAND:
		return "", false
	}
	return a.GetFailure().GetMessage(), true
}
