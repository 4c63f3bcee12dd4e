package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// now is the time of the workflow.
func (a *agent) now() time.Time { return workflow.Now(a.root).UTC() }

// note says what the session does now.
func (a *agent) note(what string) { a.doing, a.since, a.lacking = what, a.now(), "" }

// noteLacking keeps since when the session waits.
func (a *agent) noteLacking(what string) {
	if a.lacking == "" {
		a.since = a.now()
	}
	a.doing, a.lacking = what+"; waiting for a worker that has it", what
}

// emit adds an event that happens now, and tells the listener.
func (a *agent) emit(kind domain.EventType, data any) {
	a.last++
	event := domain.Event{
		Type: kind, Data: data,
		EventHeader: domain.EventHeader{
			Sequence: a.last, Time: a.now(), AgentID: a.state.AgentID, ParentAgentID: a.state.ParentAgentID,
			ExecutionID: a.state.Execution.ID, StepID: a.step, Step: a.number,
		},
	}
	a.events = append(a.events, event)
	if kind == domain.EventInferenceReceived {
		a.failure = nil
	}
	if a.listen != nil && !workflow.IsReplaying(a.root) {
		a.listen(event)
	}
}

// noteFailure notes why the inference that has just ended failed.
func (a *agent) noteFailure(err *domain.Error) { a.failure = err }

// announce emits the stop signals that were added since it was last called.
func (a *agent) announce() {
	signals := a.state.StopSignals()
	for _, signal := range signals[min(a.announced, len(signals)):] {
		a.emitStop(signal)
	}
	a.announced = len(signals)
}

func (a *agent) emitStop(signal domain.StopSignal) {
	a.emit(domain.EventStopSignalReceived, domain.StopEvent{Reason: signal.Reason, Source: domain.Shorten(signal.Source, maxEventText)})
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
