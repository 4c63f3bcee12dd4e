package workflows

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// A ledger holds the events of one execution that happened in this run. They
// are made again by replay, and cost no history.
type ledger struct {
	events []domain.RecordedEvent
	// last is the number of the newest event, also one of an earlier run.
	last int64
	// announced counts the state's stop signals that have had their event.
	announced int
}

// head is the header of the event that happens now.
func (s *session) head() domain.EventHeader {
	s.ledger.last++
	execution, _ := s.state.Execution()
	parent, _ := s.state.ParentAgentID()
	h := domain.EventHeader{
		Sequence: s.ledger.last, Time: s.now(), AgentID: s.in.AgentID, ParentAgentID: parent, ExecutionID: execution.ID(),
	}
	if s.step != nil {
		h.StepID, h.Step = s.step.id, s.step.number
	}
	return h
}

// tell adds an event, made with the head of now.
func (s *session) tell(event domain.Event) {
	s.ledger.events = append(s.ledger.events, domain.RecordedEvent{Event: event})
	if s.options.Emit != nil && !workflow.IsReplaying(s.root) {
		s.options.Emit(event)
	}
}

// announce tells of the stop signals that were added since it was last called.
func (s *session) announce() {
	signals := s.state.StopSignals()
	for _, signal := range signals[min(s.ledger.announced, len(signals)):] {
		s.tell(domain.StopSignalReceived{EventHeader: s.head(), Reason: signal.Reason, Source: domain.Shorten(signal.Source, maxEventText)})
	}
	s.ledger.announced = len(signals)
}

// evaluated takes over the state after an evaluation, and tells what came of it.
func (s *session) evaluated(state domain.AgentState, stops, silent bool) {
	overridden := len(state.Continuation().Overridden) - len(s.state.Continuation().Overridden)
	s.state = state
	s.ledger.announced = len(state.StopSignals())
	if silent {
		return
	}
	reason, _ := state.StopReason()
	s.tell(domain.ContinuationEvaluated{EventHeader: s.head(), Stops: stops, Reason: reason, Overridden: overridden})
}

// maxEventText bounds what an event holds of names that others choose.
const maxEventText = 128

// eventsOf is a page of what this run holds of an execution's events.
func (s *session) eventsOf(request domain.EventsRequest) (domain.EventsPage, error) {
	chapter, ok := s.chapter(request.Number)
	page := domain.EventsPage{Number: request.Number, Events: []domain.RecordedEvent{}}
	if !ok {
		return page, nil
	}
	execution, _ := chapter.state.Execution()
	page.ExecutionID, page.Number = execution.ID(), chapter.state.ExecutionCount()
	held := chapter.ledger.events
	if len(held) == 0 {
		return page, nil
	}
	page.First = held[0].Head().Sequence
	from := min(max(request.After-page.First+1, 0), int64(len(held)))
	size := 0
	for _, event := range held[from:] {
		encoded, err := json.Marshal(event)
		if size += len(encoded); err != nil || size > domain.MaxPage && len(page.Events) > 0 {
			page.More = true
			break
		}
		page.Events = append(page.Events, event)
	}
	page.Ended = !page.More && closes(held[len(held)-1])
	return page, nil
}

// closes reports whether an event is the last one of its execution.
func closes(event domain.Event) bool {
	return event.Type() == domain.EventExecutionCompleted || event.Type() == domain.EventExecutionFailed
}
