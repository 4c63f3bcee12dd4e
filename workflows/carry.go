package workflows

import (
	"encoding/json"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// A handover makes the next run of a session, which continues as new, and sees to it that this can be done.
type handover struct {
	session      *session
	agent        *agent
	config       *configuration
	mail         *mailbox.Mailbox
	conversation *transcript
	run          *run
}

func (s *session) handover() *handover {
	return &handover{s, s.agent, s.config, s.mail, s.conversation, s.run}
}

// handed is the input of the next run, if it can be handed on. Where the rest
// leaves little room, the state is made to fit.
func (h *handover) handed() (in contract.SessionInput, _ *domain.Error) {
	if h.conversation.SizeFrom(h.carriedFrom()) > domain.MaxCarriedMessages {
		return in, domain.Errorf(domain.TooLarge,
			"without storage at most %d bytes of messages are carried; configure storage on the workers", domain.MaxCarriedMessages)
	}
	var err error
	for _, limit := range []int{domain.MaxMessage, domain.MaxCarriedState} {
		var carry contract.Carry
		if carry, err = h.carryWithin(limit); err != nil {
			break
		}
		in = h.successor(h.config.Definition, carry)
		if err = domain.CheckFits("what the next run needs", in, domain.MaxPayload); err == nil {
			return in, nil
		}
	}
	return in, domain.AsError(err)
}

// successor is the input of a run that goes on from this one.
func (h *handover) successor(own domain.Definition, carry contract.Carry) contract.SessionInput {
	in := *h.session.in
	in.Prompt, in.Options, in.Budget, in.Carry, in.GoOn, in.Fork, in.Definition = "", nil, domain.ExecutionBudget{}, &carry, nil, nil, own
	in.Parent = h.session.parent()
	return in
}

// carryWithin is what the next run needs of this one, its state within a limit: of the steps what hooks see. The last one
// stays, as it holds the answer so far.
func (h *handover) carryWithin(limit int) (contract.Carry, error) {
	return h.carry(h.agent.shown().WithLastStepWithin(limit))
}

func (h *handover) carry(of domain.AgentState) (contract.Carry, error) {
	state, err := json.Marshal(of)
	return contract.Carry{
		State: state, Sequence: h.agent.log.last, Prior: h.agent.state.Execution.Prior, Outcome: h.session.archive.outcome,
		Config: h.config.handOver(), Conversation: h.conversation.handOver(h.carriedFrom()), Mail: h.mail.HandOver(),
		Records: h.session.records.CarriedRecords, Guarded: h.session.guards.Guarded, Bound: h.session.bindings.handOver(),
		Segments: h.run.segments, Copy: h.run.copying, Runs: h.run.number,
	}, err
}

// carriedFrom is the index of the first message that the next run needs: the first
// in no segment or, with no storage at all, the first that a summary does not
// hide.
func (h *handover) carriedFrom() int {
	if len(h.run.segments) > 0 || h.config.stores() {
		return h.run.stored
	}
	return h.conversation.Needed(h.run.stored)
}

// room is how many bytes the next run has left beside what it would be handed, with the definition in force or with the one
// that is to wait for the next execution, whichever are more; negative: it would be handed too much. Steps are left out, as
// they are made to fit.
func (h *handover) room(next *contract.Config) (int, error) {
	carry, err := h.carry(h.agent.state.WithoutSteps())
	if err != nil {
		return 0, err
	}
	carry.Mail.Answers = nil // counted at their most, as any number may be given before the run ends
	if carry.Config.Next = next; h.config.stores() {
		carry.Conversation.Entries = nil // what is not stored yet will be
	}
	size, err := contract.EncodedBytes(h.successor(h.config.Definition, carry))
	if next != nil && err == nil {
		replaced := []any{h.config.Definition, h.agent.state.SystemPrompt, h.agent.state.ResponseFormat, next}
		if h.config.Resolved != nil {
			replaced = append(replaced, h.config.Resolved.Definition)
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
func (h *handover) checkCarried() {
	if h.config.Resolved == nil || h.agent.state.ExecutionCount > 1 || h.session.in.Carry != nil || h.mail.Stopped() {
		return
	}
	left, err := h.room(h.config.Next)
	prompt := "" // it is handed on where it is not stored
	if !h.config.Resolved.Storage {
		prompt = h.session.in.Prompt
		left = min(left, domain.MaxCarriedMessages-contract.CarryMargin-h.conversation.SizeFrom(h.carriedFrom()))
	}
	if err != nil || left >= 0 {
		return
	}
	h.agent.fail(domain.AsError(contract.NotCarried(h.config.Resolved.Definition, prompt, -left)))
}

// checkHandedOn refuses what the next run could not be handed beside all else, so that nothing which people ask for ends an
// execution later: a definition that is to wait, and more that is to be carried. instead is what to do.
func (h *handover) checkHandedOn(what, instead string, next *contract.Config, more ...any) error {
	left, err := h.room(next)
	if err != nil {
		return err
	}
	size, err := contract.EncodedBytes(more...)
	if left -= size; err == nil && left < 0 {
		err = domain.Errorf(domain.TooLarge, "%s: takes %d bytes more than the session can hand on to its next run, beside its definition and what waits; %s", what, -left, instead)
	}
	return err
}
