package workflows

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// outgrown reports whether the run has become long enough to hand over.
func (s *session) outgrown() bool {
	return s.info.GetContinueAsNewSuggested() || s.updates.taken >= manyTaken
}

// carriable makes the run ready to hand over: with storage the live messages
// become a segment. It answers false where something came in between that this
// run has to see to, and where the conversation cannot be carried, which ends
// an execution in progress. Nothing may wait between its answer and the
// continuation.
func (s *session) carriable() bool {
	var lost *domain.Error
	if s.resolved != nil && s.resolved.Storage {
		lost = s.storeSegment()
	}
	s.awaitHandlers()
	if !s.quiet() {
		return false
	}
	if lost == nil {
		lost = s.fits()
	}
	if lost != nil {
		s.contextLost(lost)
	}
	return lost == nil
}

// quiet reports whether nothing wants to be done in this run first.
func (s *session) quiet() bool {
	if s.state.HasActiveExecution() {
		return !s.stopped()
	}
	return s.next == nil && !s.closing
}

// contextLost ends the execution in progress. An idle session just stays.
func (s *session) contextLost(why *domain.Error) {
	if s.state.HasActiveExecution() {
		s.fail(domain.CodedErrorf(domain.TooLarge, domain.CodeContextLost,
			"the conversation outgrew one run and could not be carried to the next: %s", why.Message))
	}
}

// storeSegment writes the messages that no segment holds to storage. They stay
// in this run's memory, so that it can still be asked for them when it is over.
func (s *session) storeSegment() *domain.Error {
	if s.log.Len() == s.stored {
		return nil
	}
	s.note("continuing as new")
	request := domain.RecordRequest{From: s.stored, Log: s.log.Ref()}
	segment, err := await(s.activity(recording, "record the transcript"), domain.Record, request)
	if err != nil {
		return failureOf(err)
	}
	s.segments = append(s.segments, segment)
	s.stored = segment.To
	return nil
}

// fits reports whether the carry can be handed on.
func (s *session) fits() *domain.Error {
	size := 0
	for _, e := range s.log.From(s.stored) {
		size += e.Size()
	}
	if size > domain.MaxCarriedMessages {
		return domain.Errorf(domain.TooLarge,
			"without storage at most %d bytes of messages are carried; configure storage on the workers", domain.MaxCarriedMessages)
	}
	carry, err := s.carry()
	if err == nil {
		err = checkSize("carry", carry)
	}
	if err != nil {
		return domain.AsError(err)
	}
	return nil
}

// carry is what the next run needs of this one.
func (s *session) carry() (domain.Carry, error) {
	idle := !s.state.HasActiveExecution()
	state, err := json.Marshal(s.state.WithStepsFolded(idle))
	if err == nil && len(state) > domain.MaxMessage {
		state, err = json.Marshal(s.state.WithStepsFolded(false))
	}
	if err != nil {
		return domain.Carry{}, err
	}
	chain, _ := s.log.ChainAt(s.stored)
	return domain.Carry{
		State: state, Resolved: s.resolved, Segments: s.segments,
		Entries: s.log.From(s.stored), Base: s.stored, Chain: chain,
		Inferences: s.tally.inferences, ToolCalls: s.tally.toolCalls,
		Visible: s.tally.visible, Traces: s.tally.traces,
		Answered: s.updates.answered, Runs: s.runs(), Outcome: s.outcome,
	}, nil
}

// runs counts the runs of the chain, this one included.
func (s *session) runs() int {
	if s.in.Carry == nil {
		return 1
	}
	return s.in.Carry.Runs + 1
}

// continueAsNew hands the session to a new run of the same workflow.
func (s *session) continueAsNew(ctx workflow.Context) error {
	s.note("continuing as new")
	s.stop.disarm()
	carry, err := s.carry()
	if err != nil {
		return err
	}
	in := s.in
	in.Prompt, in.Budget = "", domain.ExecutionBudget{}
	in.Carry = &carry
	return workflow.NewContinueAsNewError(ctx, string(domain.Execute), in)
}
