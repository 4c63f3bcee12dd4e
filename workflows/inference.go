package workflows

import (
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/conversation"
	"everstep/workflows/internal/mailbox"
)

// An inference asks the model, as often as the budget and the kind of failure
// allow: for the step's answer, or for a summary on the way to it.
//
// Temporal retries what cannot have been billed; what may have been comes back
// as a reply, and is decided here with the budget in hand.
type inference struct {
	session *session
	step    *stepRun
	agent   *agent
	config  *configuration
	mail    *mailbox.Mailbox
	talk    *transcript
	// plan is the summary's, nil where the step's answer is asked for.
	plan *conversation.SummaryPlan
	// tries counts those of this request, lost the workers that were lost with it beside;
	// resumes says that a worker was lost and the same request is sent again, without compaction.
	tries, lost int
	resumes     bool
	// kept is what is known of the answer of that one.
	kept contract.ModelReply
	// failure is why the try before this one failed.
	failure *domain.Error
}

// A course says how an inference goes on.
type course int

const (
	// again: the model is asked once more.
	again course = iota
	// taken: its answer was taken.
	taken
	// over: the step is over without.
	over
)

func (t *stepRun) infer() { newInference(t, nil).run() }

func newInference(t *stepRun, plan *conversation.SummaryPlan) *inference {
	return &inference{session: t.session, step: t, agent: t.agent, config: t.config, mail: t.mail, talk: t.talk, plan: plan}
}

func (i *inference) run() course {
	for {
		permit, room, ok := i.prepare()
		if !ok {
			if i.resumes {
				i.emitUnanswered(contract.Loss{How: contract.TimedOut}.Err(), domain.Usage{})
			}
			return over
		}
		request := i.demand(room)
		reply, err := mailbox.Await(permit, i.asking(), contract.CallModel, *request)
		if c := i.decide(permit, room, request, reply, err); c != again {
			return c
		}
	}
}

// prepare compacts the conversation where it nears the model's window, and
// reserves what the next try may use. It answers false where that ends the step.
func (i *inference) prepare() (mailbox.Permit, contract.Reservation, bool) {
	bound, tooLittle := i.step.request.MaxOutputTokens, noBudget
	if i.plan != nil {
		bound, tooLittle = i.plan.Request().MaxTokens, noBudgetToSumUp
	} else if _, ok := i.mail.Permit(mailbox.ForInference); ok && !i.resumes && i.compact() == over {
		return mailbox.Permit{}, contract.Reservation{}, false
	}
	// A pause or a stop may have come meanwhile.
	permit, ok := i.mail.Permit(mailbox.ForInference)
	if !ok {
		i.interrupted(i.kept)
		return permit, contract.Reservation{}, false
	}
	room, short := i.session.budget.reserve()
	if short != "" && i.session.budget.asksFor(short) || short == "" && i.plan == nil && i.session.budget.asksForRoom(room) {
		return i.prepare()
	}
	// So may they have while it asked in vain, and so may a lower budget.
	if permit, ok = i.mail.Permit(mailbox.ForInference); !ok {
		i.interrupted(i.kept)
		return permit, contract.Reservation{}, false
	}
	room, short = i.session.budget.reserve()
	if short != "" {
		i.session.budget.signalShort(short)
		i.cut(tooLittle, i.kept)
		return permit, room, false
	}
	return permit, room.Within(bound), true
}

// decide says how an inference goes on after an attempt.
func (i *inference) decide(
	permit mailbox.Permit, room contract.Reservation, request *contract.ModelRequest, reply *contract.ModelReply, err error,
) course {
	i.asked(request, reply, err)
	var loss contract.Loss
	var why *domain.Error
	if err != nil {
		loss = lossOf(err)
		why = loss.Err()
	} else {
		i.tries += max(reply.Tries, 1)
		if reply.Outcome == contract.BilledFailure {
			why = reply.WhyUnanswered()
		}
	}
	if why != nil {
		if c, shorter := i.overflowed(why, err == nil); shorter {
			return c
		}
		if c, changed := i.queueChanged(why); changed {
			return c
		}
		if why.Lacking && i.session.policy.askAnother(why, i.step.attempts.lack(), i.session.policy.whileReplaced()) {
			return again
		}
		if why.Lacking && i.mail.Stopped() { // it waited for another worker
			return i.interrupted(contract.ModelReply{})
		}
	}
	switch {
	case err != nil && i.mail.CutOff():
		return i.interrupted(loss.Kept())
	case err != nil && loss.AskedAgain(*request):
		return i.waitAfter(loss, *request)
	case err != nil:
		return i.failed(why)
	case why != nil && why.ModelsFault() && i.plan == nil && !i.mail.CutOff():
		return i.miswrote(why, *reply)
	case reply.Outcome != contract.Answered:
		return i.unanswered(*reply)
	case i.plan != nil:
		return i.summarised(*reply)
	}
	return i.answered(permit, room, *reply)
}

// compact makes the conversation shorter for the model where it nears the
// window: old tool results first, then a summary.
func (i *inference) compact() course {
	if !i.talk.crowded() {
		return again
	}
	if i.talk.clear() && i.talk.forcing != forced {
		return again
	}
	c := i.summarise()
	if c != again {
		i.talk.unforce()
	}
	return c
}

// overflowed takes a provider's word that the conversation is too long: it is
// made shorter, once a step; a summary is asked for of half as much text. It
// answers false where that is not possible.
func (i *inference) overflowed(err *domain.Error, billed bool) (course, bool) {
	switch {
	case err.Code != domain.CodeContextOverflow:
		return again, false
	case i.plan != nil:
		smaller, ok := i.plan.Halved()
		if ok = ok && !billed; ok {
			i.plan = &smaller
		}
		return again, ok
	case i.step.attempts.shortened || !i.config.Resolved.Compacts() || i.mail.CutOff():
		return again, false
	}
	i.step.attempts.shorten()
	before := i.talk.input()
	i.talk.refused(err.Window)
	if i.talk.clear() {
		return again, true
	}
	c := i.summarise()
	if c == taken {
		return again, true
	}
	return c, c == over || i.talk.input() < before
}

// summarise asks for a summary of what comes before the boundary, as a part of the
// step. It answers again where that is not worth its price.
func (i *inference) summarise() course {
	plan, worth := i.talk.plan()
	if !worth {
		return again
	}
	return newInference(i.step, &plan).run()
}
