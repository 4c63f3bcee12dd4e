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
	session      *session
	step         *stepRun
	agent        *agent
	config       *configuration
	mail         *mailbox.Mailbox
	conversation *transcript
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

// An attemptResult says how an inference goes on.
type attemptResult int

const (
	// askAgain: the model is asked once more.
	askAgain attemptResult = iota
	// answerTaken: its answer was taken.
	answerTaken
	// stepOver: the step is over without.
	stepOver
)

func (t *stepRun) infer() { newInference(t, nil).run() }

func newInference(t *stepRun, plan *conversation.SummaryPlan) *inference {
	return &inference{session: t.session, step: t, agent: t.agent, config: t.config, mail: t.mail, conversation: t.conversation, plan: plan}
}

func (i *inference) run() attemptResult {
	for {
		admission, room, ok := i.prepare()
		if !ok {
			if i.resumes {
				i.emitUnanswered(contract.Loss{How: contract.TimedOut}.Err(), domain.Usage{})
			}
			return stepOver
		}
		request := i.demand(room)
		reply, err := mailbox.Await(admission, i.asking(), contract.CallModel, *request)
		if c := i.decide(admission, room, request, reply, err); c != askAgain {
			return c
		}
	}
}

// prepare compacts the conversation where it nears the model's window, and
// reserves what the next try may use. It answers false where that ends the step.
func (i *inference) prepare() (mailbox.Admission, contract.Reservation, bool) {
	bound, tooLittle := i.step.request.MaxOutputTokens, noBudget
	if i.plan != nil {
		bound, tooLittle = i.plan.Request().MaxTokens, noBudgetToSumUp
	} else if _, ok := i.mail.Admit(mailbox.ForInference); ok && !i.resumes && i.compact() == stepOver {
		return mailbox.Admission{}, contract.Reservation{}, false
	}
	for asked := false; ; {
		// A pause or a stop may have come meanwhile, and a lower budget.
		admission, ok := i.mail.Admit(mailbox.ForInference)
		if !ok {
			i.interrupted(i.kept)
			return admission, contract.Reservation{}, false
		}
		room, short := i.session.budget.reserve()
		switch {
		case !asked:
			got := short != "" && i.session.budget.asksFor(short) || short == "" && i.plan == nil && i.session.budget.asksForRoom(room)
			asked = !got // in vain
		case short != "":
			i.session.budget.signalShort(short)
			i.cut(tooLittle, i.kept)
			return admission, room, false
		default:
			return admission, room.Within(bound), true
		}
	}
}

// decide says how an inference goes on after an attempt.
func (i *inference) decide(
	admission mailbox.Admission, room contract.Reservation, request *contract.ModelRequest, reply *contract.ModelReply, err error,
) attemptResult {
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
			return askAgain
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
	return i.answered(admission, room, *reply)
}

// compact makes the conversation shorter for the model where it nears the
// window: old tool results first, then a summary.
func (i *inference) compact() attemptResult {
	if !i.conversation.crowded() {
		return askAgain
	}
	if i.conversation.clear() && i.conversation.forcing != forced {
		return askAgain
	}
	c := i.summarise()
	if c != askAgain {
		i.conversation.unforce()
	}
	return c
}

// overflowed takes a provider's word that the conversation is too long: it is
// made shorter, once a step; a summary is asked for of half as much text. It
// answers false where that is not possible.
func (i *inference) overflowed(err *domain.Error, billed bool) (attemptResult, bool) {
	switch {
	case err.Code != domain.CodeContextOverflow:
		return askAgain, false
	case i.plan != nil:
		smaller, ok := i.plan.Halved()
		if ok = ok && !billed; ok {
			i.plan = &smaller
		}
		return askAgain, ok
	case i.step.attempts.shortened || !i.config.Resolved.Compacts() || i.mail.CutOff():
		return askAgain, false
	}
	i.step.attempts.shorten()
	before := i.conversation.input()
	i.conversation.refused(err.Window)
	if i.conversation.clear() {
		return askAgain, true
	}
	c := i.summarise()
	if c == answerTaken {
		return askAgain, true
	}
	return c, c == stepOver || i.conversation.input() < before
}

// summarise asks for a summary of what comes before the boundary, as a part of the
// step. It answers again where that is not worth its price.
func (i *inference) summarise() attemptResult {
	plan, worth := i.conversation.plan()
	if !worth {
		return askAgain
	}
	return newInference(i.step, &plan).run()
}
