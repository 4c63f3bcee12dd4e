package workflows

import (
	"encoding/json"

	"everstep/domain"
	"everstep/domain/contract"
)

// handed is the input of the next run, if it can be handed on. Where the rest
// leaves little room, the state is made to fit.
func (r *run) handed() (in contract.SessionInput, _ *domain.Error) {
	if r.conversation.SizeFrom(r.carriedFrom()) > domain.MaxCarriedMessages {
		return in, domain.Errorf(domain.TooLarge,
			"without storage at most %d bytes of messages are carried; configure storage on the workers", domain.MaxCarriedMessages)
	}
	var err error
	for _, limit := range []int{domain.MaxMessage, domain.MaxCarriedState} {
		in = r.nextInput(r.carryWithin(limit))
		if err = domain.CheckFits("what the next run needs", in, domain.MaxPayload); err == nil {
			return in, nil
		}
	}
	return in, domain.AsError(err)
}

// nextInput is the input of a run that goes on from this one.
func (r *run) nextInput(carry contract.Carry) contract.SessionInput {
	in := *r.session.in
	in.Prompt, in.Options, in.Budget, in.Carry, in.GoOn, in.Fork, in.Definition = "", nil, domain.ExecutionBudget{}, &carry, nil, nil, r.config.Definition
	in.Parent = r.session.parent()
	return in
}

// carryWithin is what the next run needs of this one, its state within a limit: of the steps what hooks see. The last one
// stays, as it holds the answer so far.
func (r *run) carryWithin(limit int) contract.Carry {
	return r.carry(r.agent.shown().WithLastStepWithin(limit))
}

func (r *run) carry(of domain.AgentState) contract.Carry {
	config := r.config.CarriedConfig
	config.Definition = domain.Definition{} // the next run's input has it
	return contract.Carry{
		State: must(json.Marshal(of)), Sequence: r.agent.last, Prior: r.agent.state.Execution.Prior, Outcome: r.session.archive.outcome,
		Config: config, Conversation: r.conversation.handOver(r.carriedFrom()), Mail: r.mail.HandOver(),
		Records: r.session.records.CarriedRecords, Guarded: r.session.guards.Guarded, Bound: r.session.bindings.handOver(),
		Segments: r.segments, Copy: r.copying, Runs: r.number,
	}
}

// carriedFrom is the index of the first message that the next run needs: the first
// in no segment or, with no storage at all, the first that a summary does not
// hide.
func (r *run) carriedFrom() int {
	if len(r.segments) > 0 || r.config.stores() {
		return r.stored
	}
	return r.conversation.Needed(r.stored)
}

// room is how many bytes the next run has left beside what it would be handed, with the definition in force or with the one
// that is to wait for the next execution, whichever are more; negative: it would be handed too much. Steps are left out, as
// they are made to fit.
func (r *run) room(next *contract.Config) int {
	carry := r.carry(r.agent.state.WithoutSteps())
	carry.Mail.Answers = nil // counted at their most, as any number may be given before the run ends
	if carry.Config.Next = next; r.config.stores() {
		carry.Conversation.Entries = nil // what is not stored yet will be
	}
	size := must(contract.EncodedBytes(r.nextInput(carry)))
	if next != nil {
		replaced := []any{r.config.Definition, r.agent.state.SystemPrompt, r.agent.state.ResponseFormat, next}
		if r.config.Resolved != nil {
			replaced = append(replaced, r.config.Resolved.Definition)
		}
		size += max(must(contract.DefinitionBytes(next.Definition))-must(contract.EncodedBytes(replaced...)), 0)
	}
	return domain.MaxPayload - domain.MaxCarriedState - contract.MaxAnswers - contract.CarryMargin - size
}

// checkCarried fails the first execution of an agent whose definition, tools and prompt leave no room for what else the next
// run needs: it would end in the middle of its work.
func (r *run) checkCarried() {
	if r.config.Resolved == nil || r.agent.state.ExecutionCount > 1 || r.session.in.Carry != nil || r.mail.Stopped() {
		return
	}
	left, prompt := r.room(r.config.Next), ""
	if !r.config.Resolved.Storage { // the prompt is handed on where it is not stored
		prompt = r.session.in.Prompt
		left = min(left, domain.MaxCarriedMessages-contract.CarryMargin-r.conversation.SizeFrom(r.carriedFrom()))
	}
	if left < 0 {
		r.agent.fail(domain.AsError(contract.NotCarried(r.config.Resolved.Definition, prompt, -left)))
	}
}

// checkHandedOn refuses what the next run could not be handed beside all else, so that nothing which people ask for ends an
// execution later: a definition that is to wait, and more that is to be carried. instead is what to do.
func (r *run) checkHandedOn(what, instead string, next *contract.Config, more ...any) error {
	if left := r.room(next) - must(contract.EncodedBytes(more...)); left < 0 {
		return domain.TooLargef("%s: takes %d bytes more than the session can hand on to its next run, beside its definition and what waits; %s", what, -left, instead)
	}
	return nil
}
