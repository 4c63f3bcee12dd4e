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
	step         *stepRun
	agent        *agent
	config       *configuration
	mail         *mailbox.Mailbox
	conversation *transcript
	policy       *policy
	budget       *budget
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
	// count is of all inferences of the step so far: a summary goes on with it.
	count attemptCount
}

// An attemptCount is what the inferences of a step have met together.
type attemptCount struct {
	// queueChanges counts how often the model was found to have come under a rate
	// limit, pauses how often the provider paused in its answer, and nothings the
	// answers with neither text nor tool calls.
	queueChanges, pauses, nothings int
	// lacks counts the workers that lacked what the inference needs.
	lacks int
	// shortened says that an overflow has made the conversation shorter once.
	shortened bool
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

func newInference(t *stepRun, plan *conversation.SummaryPlan) *inference {
	return &inference{
		step: t, agent: t.agent, config: t.config, mail: t.mail, conversation: t.conversation, policy: t.session.policy, budget: t.session.budget, plan: plan,
	}
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
func (i *inference) prepare() (admission mailbox.Admission, room contract.Reservation, ok bool) {
	bound, tooLittle := i.step.request.MaxOutputTokens, noBudget
	if i.plan != nil {
		bound, tooLittle = i.plan.Request().MaxTokens, noBudgetToSumUp
	} else if _, ok := i.mail.Admit(mailbox.ForInference); ok && !i.resumes && i.compact() == stepOver {
		return admission, room, false
	}
	for asked := false; ; {
		// A pause or a stop may have come meanwhile, and a lower budget.
		if admission, ok = i.mail.Admit(mailbox.ForInference); !ok {
			i.interrupted(i.kept)
			return admission, room, false
		}
		var short domain.Limit
		room, short = i.budget.reserve()
		switch {
		case !asked:
			got := short != "" && i.budget.asksFor(short) || short == "" && i.plan == nil && i.budget.asksForRoom(room)
			asked = !got // in vain
		case short != "":
			i.budget.signalShort(short)
			i.cut(tooLittle, i.kept)
			return admission, room, false
		default:
			return admission, room.Within(bound), true
		}
	}
}

// tally counts what an attempt used, before anything else is reserved, and tells of it: whoever asks sees it at once. It reports
// whether an inference whose worker was lost is made again.
func (i *inference) tally(request *contract.ModelRequest, reply *contract.ModelReply, err error) (again bool) {
	if err != nil {
		loss := lossOf(err)
		again = loss.AskedAgain(*request) && !i.mail.CutOff()
		i.step.content.lost(*request, loss, again, i.config.Resolved.Price)
		i.step.keep()
		if !again {
			i.emitUnanswered(loss.Err(), domain.Usage{})
		}
		return again
	}
	i.tries += max(reply.Tries, 1)
	i.step.content.replied(*reply, i.config.Resolved.Price)
	i.step.keep()
	if reply.Outcome != contract.Answered {
		i.emitUnanswered(reply.WhyUnanswered(), reply.Response.Usage.Add(reply.Spent))
	} else if i.plan == nil {
		i.conversation.answered(reply.Response.Usage)
	}
	return false
}

// decide says how an inference goes on after an attempt.
func (i *inference) decide(
	admission mailbox.Admission, room contract.Reservation, request *contract.ModelRequest, reply *contract.ModelReply, err error,
) attemptResult {
	again := i.tally(request, reply, err)
	var loss contract.Loss
	var why *domain.Error
	if err != nil {
		loss = lossOf(err)
		why = loss.Err()
	} else if reply.Outcome == contract.BilledFailure {
		why = reply.WhyUnanswered()
	}
	if why != nil {
		if c, shorter := i.overflowed(why, err == nil); shorter {
			return c
		}
		if c, changed := i.queueChanged(why); changed {
			return c
		}
		if why.Lacking {
			if i.count.lacks++; i.policy.askAnother(why, i.count.lacks, false, i.mail.BackOffUnlessStopped) {
				return askAgain
			}
			if i.mail.Stopped() { // it waited for another worker
				return i.interrupted(contract.ModelReply{})
			}
		}
	}
	switch {
	case err != nil && i.mail.CutOff():
		return i.interrupted(loss.Kept())
	case again:
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
	forces := i.conversation.forcing == forced
	if !i.conversation.Crowded(i.config.Resolved, forces) || i.conversation.clear() && !forces {
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
	case i.count.shortened || !i.config.Resolved.Compacts() || i.mail.CutOff():
		return askAgain, false
	}
	i.count.shortened = true
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
	plan, worth := i.conversation.PlanSummary(i.config.Resolved)
	if !worth {
		return askAgain
	}
	summary := newInference(i.step, &plan)
	summary.count = i.count
	c := summary.run()
	i.count = summary.count
	return c
}
