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
	var unstored *domain.Error
	if s.resolved != nil && s.resolved.Storage {
		unstored = s.storeSegment()
	}
	s.awaitHandlers()
	if !s.quiet() {
		return false
	}
	// What could not be stored may still be short enough to be carried, or can
	// be made so.
	lost := s.fits()
	if lost != nil && s.resolved != nil && s.state.HasActiveExecution() && s.compacts() && !s.resolved.Storage && !s.squeezed {
		s.squeeze, s.squeezed = true, true
		return false
	}
	if lost != nil && unstored != nil {
		lost = unstored
	}
	if lost != nil {
		s.contextLost(lost)
	}
	return lost == nil
}

// quiet reports whether nothing wants to be done in this run first.
func (s *session) quiet() bool {
	s.heed()
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
// A stop cuts it off, and whatever wakes an idle session: the run goes on.
func (s *session) storeSegment() *domain.Error {
	if s.log.Len() == s.stored {
		return nil
	}
	if !s.state.HasActiveExecution() {
		s.work, s.cancelWork = workflow.WithCancel(s.root)
	}
	s.note("continuing as new")
	request := domain.RecordRequest{From: s.stored, Log: s.log.Ref()}
	segment, err := await(s.activity(recording, "record the transcript", 0), domain.Record, request)
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
	for _, e := range s.log.From(s.carried()) {
		size += e.Size()
	}
	if size > domain.MaxCarriedMessages {
		return domain.Errorf(domain.TooLarge,
			"without storage at most %d bytes of messages are carried; configure storage on the workers", domain.MaxCarriedMessages)
	}
	in, err := s.handed()
	s.successor = in
	return err
}

// handed is the input of the next run. Where the rest leaves little room, the
// state is made to fit.
func (s *session) handed() (domain.SessionInput, *domain.Error) {
	var tooLarge *domain.Error
	for _, limit := range []int{domain.MaxMessage, domain.MaxCarriedState} {
		carry, err := s.carry(limit)
		if err != nil {
			return domain.SessionInput{}, domain.AsError(err)
		}
		in := s.in
		in.Prompt, in.Budget, in.Carry, in.GoOn = "", domain.ExecutionBudget{}, &carry, nil
		if tooLarge = checkFits("what the next run needs", in, domain.MaxPayload); tooLarge == nil {
			return in, nil
		}
	}
	return domain.SessionInput{}, tooLarge
}

// carry is what the next run needs of this one, its state within a limit. The
// last step stays, as it holds the answer so far.
func (s *session) carry(limit int) (domain.Carry, error) {
	state, err := json.Marshal(fit(s.state.WithStepsFolded(true), limit))
	if err != nil {
		return domain.Carry{}, err
	}
	from := s.carried()
	chain, _ := s.log.ChainAt(from)
	return domain.Carry{
		State: state, Resolved: s.resolved, Segments: s.segments,
		Entries: s.log.From(from), Base: from, Chain: chain,
		Inferences: s.tally.inferences, ToolCalls: s.tally.toolCalls,
		Visible: s.tally.visible, Traces: s.tally.traces,
		Edits: s.edits, Sketch: s.sketched(from), Prior: s.tally.prior, Waited: s.tally.waited, Paused: s.pause.on,
		Sequence: s.ledger.last, Guarded: s.guarded,
		Answered: s.updates.answered, Extended: s.updates.extended, Copy: s.copying, Runs: s.runs(), Outcome: s.outcome,
	}, nil
}

// carried is the index of the first message that the next run needs: the first
// in no segment or, with no storage at all, the first that a summary does not
// hide. Earlier runs keep what is hidden.
func (s *session) carried() int {
	if len(s.segments) > 0 || s.resolved != nil && s.resolved.Storage {
		return s.stored
	}
	return max(s.stored, min(s.edits.Hidden, s.log.Len()))
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
	return workflow.NewContinueAsNewError(ctx, string(domain.Execute), s.successor)
}
