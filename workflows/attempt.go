package workflows

import (
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// attempts are what all inferences of a step share.
type attempts struct {
	// queueChanges counts how often the model was found to have come under a rate
	// limit, pauses how often the provider paused in its answer, and nothings the
	// answers with neither text nor tool calls.
	queueChanges, pauses, nothings int
	// lacks counts the workers that lacked what the inference needs.
	lacks int
	// shortened says that an overflow has made the conversation shorter once.
	shortened bool
}

func (a *attempts) changeQueue()     { a.queueChanges++ }
func (a *attempts) lack() int        { a.lacks++; return a.lacks }
func (a *attempts) pauseOnce() int   { a.pauses++; return a.pauses }
func (a *attempts) giveNothing() int { a.nothings++; return a.nothings }
func (a *attempts) shorten()         { a.shortened = true }

func (i *inference) demand(room contract.Reservation) *contract.ModelRequest {
	request := contract.ModelRequest{
		ExecutionID: i.step.execution, Step: i.step.content.Number, Log: i.conversation.Log().Ref(), Resolved: i.config.Resolved.Digest,
		Inference: i.conversation.Inferences(), Attempts: i.tries, Edits: i.conversation.Edits(), Origins: i.conversation.Origins(), Heard: i.mail.Heard(),
		Tries: i.session.policy.tryLimit(), Lost: i.lost, MaxOutputTokens: room.Output, TokensLeft: room.TokensLeft, CostLeftNanoUSD: room.CostLeftNanoUSD,
		WithoutTools: i.withoutTools(),
	}
	request.Reserved = domain.Usage{InputTokens: i.conversation.input(), OutputTokens: room.Longest(i.config.Resolved), Estimated: true}
	if i.plan != nil {
		summary := i.plan.Request()
		request.WithoutTools, request.Summary = true, &summary
	}
	return &request
}

// withoutTools reports whether the step's answer may ask for none: a hook wants that, or none are left of the budget.
func (i *inference) withoutTools() bool {
	left, limited := i.session.budget.left(domain.LimitToolCalls)
	return i.step.request.WithoutTools || limited && left == 0
}

// asking tells of an inference activity that is about to be scheduled, and how it is.
func (i *inference) asking() workflow.ActivityOptions {
	what, doing := "model", "waiting for the model"
	if i.plan != nil {
		what, doing = "summary", "making the conversation shorter"
	}
	i.step.note("%s", doing)
	i.step.asks(i.config.Resolved.Definition.Model.String())
	if i.plan == nil {
		i.step.reads(i.conversation.StepInput())
	}
	if !i.resumes { // else it has been told
		i.agent.emit(domain.EventInferenceRequested, domain.InferenceRequestStarted{
			Model: domain.Shorten(i.step.content.Model, maxEventText), Attempts: i.tries, Summary: i.plan != nil,
		})
	}
	i.resumes, i.kept = false, contract.ModelReply{}
	options := i.session.policy.modelOptions(i.step.summary(what), i.tries)
	options.DisableEagerExecution = i.step.attempts.lacks > 0
	return options
}

// asked counts what an inference activity used, and tells of it. The request is left
// without tries where it is not made again after a loss.
func (i *inference) asked(request *contract.ModelRequest, reply *contract.ModelReply, err error) {
	if err != nil {
		loss := lossOf(err)
		again := loss.AskedAgain(*request) && !i.mail.CutOff()
		if !again {
			request.Tries = 0
		}
		i.step.learn(i.step.content.lost(*request, loss, again, i.config.Resolved.Price))
		i.step.keep()
		if request.Tries == 0 {
			i.emitUnanswered(loss.Err(), domain.Usage{})
		}
		return
	}
	// Whoever asks sees at once what was used, and the budget counts it before
	// anything else is reserved.
	i.step.learn(i.step.content.replied(*reply, i.config.Resolved.Price))
	i.step.keep()
	switch {
	case reply.Outcome != contract.Answered:
		i.emitUnanswered(reply.WhyUnanswered(), reply.Response.Usage.Add(reply.Spent))
	case i.plan == nil:
		i.conversation.answered(reply.Response.Usage)
	}
}

func (i *inference) emitUnanswered(err *domain.Error, usage domain.Usage) {
	i.agent.emit(domain.EventInferenceReceived, domain.InferenceResponseReceived{Usage: usage, Kind: err.Kind, Code: err.Code})
	i.agent.log.noteFailure(contract.Bounded(err))
}

func (i *inference) unanswered(reply contract.ModelReply) attemptResult {
	verdict, err := judge(reply, i.failure, i.tries, i.session.policy.tryLimit(), i.mail.CutOff())
	i.failure = reply.Error
	switch {
	case verdict == verdictStop:
		return i.interrupted(reply)
	case verdict == verdictFail:
		return i.failed(err)
	case reply.Outcome != contract.BilledFailure:
		return askAgain
	}
	delay := i.session.policy.withJitter(inferenceDelay(reply, i.session.policy.backoff(i.tries)), i.tries, 0)
	i.agent.note(contract.AttemptWaits(i.step.content.Number, i.tries+1, i.agent.now().Add(delay), reply.WhyUnanswered()))
	if !i.mail.BackOffUnlessStopped(delay) {
		return i.interrupted(contract.ModelReply{})
	}
	return askAgain
}

// waitAfter waits before an inference is made again whose worker was lost. No event tells
// of that, as of what the server tries again.
func (i *inference) waitAfter(loss contract.Loss, request contract.ModelRequest) attemptResult {
	i.tries, i.lost, i.kept = loss.Tried(request), i.lost+1, loss.Kept()
	delay := i.session.policy.withJitter(i.session.policy.backoff(max(i.tries, i.lost)), i.tries+i.lost, 0)
	i.agent.note(contract.AttemptWaits(i.step.content.Number, i.tries+1, i.agent.now().Add(delay), loss.Err()))
	if i.resumes = i.mail.BackOffUnlessStopped(delay); i.resumes {
		return askAgain
	}
	i.emitUnanswered(loss.Err(), domain.Usage{})
	return i.interrupted(i.kept)
}

// failed ends the step, unless another model takes over.
func (i *inference) failed(err *domain.Error) attemptResult {
	err = stepError(err)
	i.step.learn(i.step.content.failed(err))
	if !i.step.failOver(err) {
		i.agent.signal(domain.ErrorForbade, err.Source, err.Message)
	}
	return stepOver
}

func (i *inference) interrupted(reply contract.ModelReply) attemptResult {
	return i.cut(stopInInference, reply)
}

// cut keeps what had come of an answer that was cut off. The text of a summary so
// far is no answer of the agent's.
func (i *inference) cut(by interruption, reply contract.ModelReply) attemptResult {
	if i.plan != nil {
		reply = contract.ModelReply{}
	}
	i.step.learn(i.step.content.cutOff(by, reply))
	m, written := writtenSoFar(reply)
	// Nothing stays where a hook might have taken out of it what nobody may read.
	if written && contract.Rewriter(i.config.Resolved.Hooks) == "" {
		i.step.say("", m, reply.Digest, domain.Tag{Trace: true, CutOff: true})
	}
	return stepOver
}

// queueChanged looks for the model's rate limit anew where a worker says that one
// has come, which holds on a queue of its own. While workers are replaced another one
// may be asked, which does not have it yet: then it is looked for again, after a while.
// It answers false where that leads to nothing.
func (i *inference) queueChanged(err *domain.Error) (c attemptResult, changed bool) {
	if err.Code != domain.CodeRerouted || i.step.attempts.queueChanges >= i.session.policy.tryLimit() || i.mail.CutOff() {
		return askAgain, false
	}
	if i.step.attempts.queueChanges > 0 {
		delay := i.session.policy.withJitter(i.session.policy.backoff(i.step.attempts.queueChanges), i.step.attempts.queueChanges, 0)
		i.step.note("the workers differ in their rate limits, looking again in %s", delay)
		if !i.mail.BackOffUnlessStopped(delay) {
			return i.interrupted(contract.ModelReply{}), true
		}
	}
	admission, ok := i.mail.Admit(mailbox.WithinStep)
	if !ok {
		return askAgain, false
	}
	i.step.attempts.changeQueue()
	return askAgain, i.session.resolveAgain(admission)
}
