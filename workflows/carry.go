package workflows

import (
	"encoding/json"

	"everstep/domain"
	"everstep/domain/contract"
)

// handed is the input of the next run, if it can be handed on. Where the rest
// leaves little room, the state is made to fit.
func (s *session) handed() (in contract.SessionInput, _ *domain.Error) {
	if s.talk.SizeFrom(s.carriedFrom()) > domain.MaxCarriedMessages {
		return in, domain.Errorf(domain.TooLarge,
			"without storage at most %d bytes of messages are carried; configure storage on the workers", domain.MaxCarriedMessages)
	}
	var err error
	for _, limit := range []int{domain.MaxMessage, domain.MaxCarriedState} {
		var carry contract.Carry
		if carry, err = s.carryWithin(limit); err != nil {
			break
		}
		in = s.successor(s.config.Definition, carry)
		if err = domain.CheckFits("what the next run needs", in, domain.MaxPayload); err == nil {
			return in, nil
		}
	}
	return in, domain.AsError(err)
}

// successor is the input of a run that goes on from this one.
func (s *session) successor(own domain.Definition, carry contract.Carry) contract.SessionInput {
	in := *s.in
	in.Prompt, in.Given, in.Budget, in.Carry, in.GoOn, in.Fork, in.Definition = "", nil, domain.ExecutionBudget{}, &carry, nil, nil, own
	in.Parent = s.parent()
	return in
}

// carryWithin is what the next run needs of this one, its state within a limit: of the steps what hooks see. The last one
// stays, as it holds the answer so far.
func (s *session) carryWithin(limit int) (contract.Carry, error) {
	return s.carry(s.agent.shown().WithLastStepWithin(limit))
}

func (s *session) carry(of domain.AgentState) (contract.Carry, error) {
	state, err := json.Marshal(of)
	return contract.Carry{
		State: state, Sequence: s.agent.log.last, Prior: s.agent.state.Execution.Prior, Outcome: s.archive.outcome,
		Config: s.config.handOver(), Conversation: s.talk.handOver(s.carriedFrom(), s.config.Resolved), Mail: s.mail.HandOver(),
		Records: s.records.handOver(), Guarded: s.guards.handOver(), Bound: s.bindings.handOver(),
		Segments: s.run.segments, Copy: s.run.copying, Runs: s.run.number,
	}, err
}

// carriedFrom is the index of the first message that the next run needs: the first
// in no segment or, with no storage at all, the first that a summary does not
// hide.
func (s *session) carriedFrom() int {
	if len(s.run.segments) > 0 || s.config.stores() {
		return s.run.stored
	}
	return s.talk.Needed(s.run.stored)
}

// room is how many bytes the next run has left beside what it would be handed, with the definition in force or with the one
// that is to wait for the next execution, whichever are more; negative: it would be handed too much. Steps are left out, as
// they are made to fit.
func (s *session) room(next *contract.Config) (int, error) {
	carry, err := s.carry(s.agent.state.WithoutSteps())
	if err != nil {
		return 0, err
	}
	carry.Mail.Answers = nil // reckoned at their most, as any number may be given before the run ends
	if carry.Config.Next = next; s.config.stores() {
		carry.Conversation.Entries = nil // what is not stored yet will be
	}
	size, err := contract.EncodedBytes(s.successor(s.config.Definition, carry))
	if next != nil && err == nil {
		replaced := []any{s.config.Definition, s.agent.state.SystemPrompt, s.agent.state.ResponseFormat, next}
		if s.config.Resolved != nil {
			replaced = append(replaced, s.config.Resolved.Definition)
		}
		var before, after int
		if before, err = contract.EncodedBytes(replaced...); err == nil {
			after, err = contract.DefinitionBytes(next.Definition)
		}
		size += max(after-before, 0)
	}
	return domain.MaxPayload - domain.MaxCarriedState - contract.MaxAnswers - contract.CarryMargin - size, err
}

// checkCarried fails the first execution of an agent whose definition, tools and prompt leave no room for what else the next
// run needs: it would end in the middle of its work.
func (s *session) checkCarried() {
	if s.config.Resolved == nil || s.agent.state.ExecutionCount > 1 || s.in.Carry != nil || s.mail.Stopped() {
		return
	}
	left, err := s.room(s.config.Next)
	if !s.config.Resolved.Storage {
		left = min(left, domain.MaxCarriedMessages-contract.CarryMargin-s.talk.SizeFrom(s.carriedFrom()))
	}
	if err != nil || left >= 0 {
		return
	}
	s.agent.fail(domain.AsError(contract.NotCarried(s.config.Resolved.Definition, s.unstoredPrompt(), -left)))
}

// unstoredPrompt is the prompt, where that is handed on.
func (s *session) unstoredPrompt() string {
	if s.config.Resolved.Storage {
		return ""
	}
	return s.in.Prompt
}

// checkHandedOn refuses what the next run could not be handed beside all else, so that nothing which people ask for ends an
// execution later: a definition that is to wait, and more that is to be carried. instead is what to do.
func (s *session) checkHandedOn(what, instead string, next *contract.Config, more ...any) error {
	left, err := s.room(next)
	if err != nil {
		return err
	}
	size, err := contract.EncodedBytes(more...)
	if left -= size; err == nil && left < 0 {
		err = domain.Errorf(domain.TooLarge, "%s: takes %d bytes more than the session can hand on to its next run, beside its definition and what waits; %s", what, -left, instead)
	}
	return err
}
