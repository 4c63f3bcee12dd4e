package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// An eventLog holds the events of one execution that happened in this run. They
// are made again by replay, and cost no history.
type eventLog struct {
	// root outlives a cancellation of the workflow, which is taken as a stop.
	root workflow.Context
	// listen gets each event as it happens, except on replay.
	listen func(domain.Event)
	events []domain.Event
	// last is the number of the newest event, also one of an earlier run.
	last int64
	// announced counts the state's stop signals that have had their event.
	announced int
	step      domain.StepID
	number    int
	// doing says what the session does now, for whoever asks.
	doing string
	since time.Time
	// lacking says which worker lacks what, while another one is waited for.
	lacking string
	// failure says why the newest inference failed that has ended; nil: the model answered it.
	failure *domain.Error
}

func (l *eventLog) now() time.Time { return workflow.Now(l.root).UTC() }

func (l *eventLog) note(what string) { l.doing, l.since, l.lacking = what, l.now(), "" }

// noteLacking keeps since when the session waits.
func (l *eventLog) noteLacking(what string) {
	if l.lacking == "" {
		l.since = l.now()
	}
	l.doing, l.lacking = what+"; waiting for a worker that has it", what
}

func (l *eventLog) restart() { l.events, l.last, l.announced = nil, 0, 0 }

// enterStep makes a step the one that events belong to, the zero one none.
func (l *eventLog) enterStep(id domain.StepID, number int) { l.step, l.number = id, number }

// emit adds an event that happens now, and tells the listener.
func (l *eventLog) emit(state domain.AgentState, kind domain.EventType, data any) {
	l.last++
	event := domain.Event{
		Type: kind, Data: data,
		EventHeader: domain.EventHeader{
			Sequence: l.last, Time: l.now(), AgentID: state.AgentID, ParentAgentID: state.ParentAgentID,
			ExecutionID: state.Execution.ID, StepID: l.step, Step: l.number,
		},
	}
	l.events = append(l.events, event)
	if kind == domain.EventInferenceReceived {
		l.failure = nil
	}
	if l.listen != nil && !workflow.IsReplaying(l.root) {
		l.listen(event)
	}
}

// noteFailure notes why the inference that has just ended failed.
func (l *eventLog) noteFailure(err *domain.Error) { l.failure = err }

// announce emits the stop signals that were added since it was last called.
func (l *eventLog) announce(state domain.AgentState) {
	signals := state.StopSignals()
	for _, signal := range signals[min(l.announced, len(signals)):] {
		l.emitStop(state, signal)
	}
	l.announced = len(signals)
}

func (l *eventLog) emitStop(state domain.AgentState, signal domain.StopSignal) {
	l.emit(state, domain.EventStopSignalReceived, domain.StopEvent{Reason: signal.Reason, Source: domain.Shorten(signal.Source, maxEventText)})
}

// maxEventText bounds what an event holds of names that others choose.
const maxEventText = 128

// eventCall is how events name a call.
func eventCall(id domain.ToolExecutionID, tool string) domain.EventCall {
	return domain.EventCall{ToolExecutionID: id, Tool: domain.Shorten(tool, maxEventText)}
}

// upsertMemo has the server tell what a memo says, also while no worker is up.
func upsertMemo(root workflow.Context, memo map[string]any) {
	if err := workflow.UpsertMemo(root, memo); err != nil {
		workflow.GetLogger(root).Error("upsert memo", "error", err)
	}
}

// An archive holds the executions that have ended in this run, the newest last,
// and how the newest of all ended.
type archive struct {
	ended   []heldExecution
	outcome *contract.Outcome
}

// A heldExecution is one that ended in this run, or the newest, ended or not.
type heldExecution struct {
	state domain.AgentState
	// events are those of this run, and firstEvent is the number of the first of them, or of the next where there are none.
	events     []domain.Event
	firstEvent int64
	priced     bool
	// from is the index of its first message, before are the edits with which it began, and log is the transcript at its
	// end, or until now.
	from   int
	before domain.Edits
	log    domain.LogRef
	// outcome is how it ended; nil: it has not.
	outcome *contract.Outcome
	// agent is who has the conversation, where it was handed over.
	agent string
}

func (a *archive) keep(ended heldExecution) { a.ended = append(a.ended, ended) }

func (a *archive) conclude(outcome *contract.Outcome) { a.outcome = outcome }

// outcomeOf is how the newest execution ended; nil: it has not.
func (a *archive) outcomeOf(newest domain.AgentState) *contract.Outcome {
	if a.outcome == nil || a.outcome.Number != newest.ExecutionCount {
		return nil
	}
	return a.outcome
}
