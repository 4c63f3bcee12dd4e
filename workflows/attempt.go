package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// demand is what the next attempt asks of a worker.
func (i *inference) demand(room contract.Reservation) *contract.ModelRequest {
	request := &contract.ModelRequest{
		ExecutionID: i.step.execution, Step: i.step.content.Number, Log: i.conversation.Log().Ref(), Resolved: i.config.Resolved.Digest,
		Inference: i.conversation.Inferences(), Attempts: i.tries, Edits: i.conversation.Edits(), Origins: i.conversation.Origins(), Heard: i.mail.Heard(),
		Tries: i.policy.tryLimit(), Lost: i.lost, MaxOutputTokens: room.Output, TokensLeft: room.TokensLeft, CostLeftNanoUSD: room.CostLeftNanoUSD,
		WithoutTools: i.withoutTools(),
		Reserved:     domain.Usage{InputTokens: i.conversation.input(), OutputTokens: room.Longest(i.config.Resolved), Estimated: true},
	}
	if i.plan != nil {
		summary := i.plan.Request()
		request.WithoutTools, request.Summary = true, &summary
	}
	return request
}

// withoutTools reports whether the step's answer may ask for none: a hook wants that, or none are left of the budget.
func (i *inference) withoutTools() bool {
	left, limited := i.budget.left(domain.LimitToolCalls)
	return i.step.request.WithoutTools || limited && left == 0
}

// asking tells of an inference activity that is about to be scheduled, and how it is.
func (i *inference) asking() workflow.ActivityOptions {
	what, doing, input := "model", "waiting for the model", i.conversation.StepInput()
	if i.plan != nil {
		what, doing, input = "summary", "making the conversation shorter", i.step.content.Input
	}
	i.step.note("%s", doing)
	i.step.asks(i.config.Resolved.Definition.Model.String(), input)
	if !i.resumes { // else it has been told
		i.agent.emit(domain.EventInferenceRequested, domain.InferenceRequestStarted{
			Model: domain.Shorten(i.step.content.Model, maxEventText), Attempts: i.tries, Summary: i.plan != nil,
		})
	}
	i.resumes, i.kept = false, contract.ModelReply{}
	options := i.policy.modelOptions(i.step.summary(what), i.tries)
	options.DisableEagerExecution = i.count.lacks > 0
	return options
}

func (i *inference) emitUnanswered(err *domain.Error, usage domain.Usage) {
	i.agent.emit(domain.EventInferenceReceived, domain.InferenceResponseReceived{Usage: usage, Kind: err.Kind, Code: err.Code})
	i.agent.noteFailure(contract.Bounded(err))
}

const maxRetryAfter = time.Hour

// unanswered goes on after a reply without an answer: the inference is made again, unless a stop has cut it off or an error ends
// the step. Only a stop of ours is one, whatever the worker says. An answer that cannot be read for the same reason as the one
// before will not be the next time.
func (i *inference) unanswered(reply contract.ModelReply) attemptResult {
	why, before, last := reply.WhyUnanswered(), i.failure, i.tries >= i.policy.tryLimit()
	i.failure = reply.Error
	billed := reply.Outcome == contract.BilledFailure
	switch {
	case !billed && reply.Outcome != contract.Interrupted && reply.Outcome != contract.ShutDown:
		return i.failed(domain.Errorf(domain.Internal, "the worker's reply does not say what came of the inference"))
	case i.mail.CutOff():
		return i.interrupted(reply)
	case !billed && last:
		return i.failed(domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown,
			"the inference was cut off %d times by workers that stopped", i.tries))
	case !billed:
		return askAgain
	case last, !why.Kind.Retryable(), why.Code == domain.CodeMalformed && before != nil && *before == *why:
		return i.failed(why)
	}
	asked := time.Duration(min(max(reply.RetryAfterMillis, 0), maxRetryAfter.Milliseconds())) * time.Millisecond
	delay := i.policy.withJitter(max(asked, i.policy.backoff(i.tries)), i.tries, 0)
	i.agent.note(contract.AttemptWaits(i.step.content.Number, i.tries+1, i.agent.now().Add(delay), why))
	if !i.mail.BackOffUnlessStopped(delay) {
		return i.interrupted(contract.ModelReply{})
	}
	return askAgain
}

// waitAfter waits before an inference is made again whose worker was lost. No event tells
// of that, as of what the server tries again.
func (i *inference) waitAfter(loss contract.Loss, request contract.ModelRequest) attemptResult {
	i.tries, i.lost, i.kept = loss.Tried(request), i.lost+1, loss.Kept()
	delay := i.policy.withJitter(i.policy.backoff(max(i.tries, i.lost)), i.tries+i.lost, 0)
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
	i.step.content.failed(err)
	if !i.step.session.guards.failOver(i.step, err) {
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
	i.step.content.cutOff(by, reply)
	i.sayWritten(reply, true)
	return stepOver
}

// sayWritten keeps what was written of an answer. Nothing stays where a hook might have taken out of it what nobody may read.
func (i *inference) sayWritten(reply contract.ModelReply, cutOff bool) {
	if m := writtenSoFar(reply); len(m.Parts) > 0 && contract.Rewriter(i.config.Resolved.Hooks) == "" {
		i.step.say("", m, reply.Digest, domain.Tag{Trace: true, CutOff: cutOff})
	}
}

// queueChanged looks for the model's rate limit anew where a worker says that one
// has come, which holds on a queue of its own. While workers are replaced another one
// may be asked, which does not have it yet: then it is looked for again, after a while.
// It answers false where that leads to nothing.
func (i *inference) queueChanged(err *domain.Error) (c attemptResult, changed bool) {
	changes, policy := i.count.queueChanges, i.policy
	if err.Code != domain.CodeRerouted || changes >= policy.tryLimit() || i.mail.CutOff() {
		return askAgain, false
	}
	if changes > 0 {
		delay := policy.withJitter(policy.backoff(changes), changes, 0)
		i.step.note("the workers differ in their rate limits, looking again in %s", delay)
		if !i.mail.BackOffUnlessStopped(delay) {
			return i.interrupted(contract.ModelReply{}), true
		}
	}
	admission, ok := i.mail.Admit(mailbox.WithinStep)
	if !ok {
		return askAgain, false
	}
	i.count.queueChanges++
	return askAgain, i.step.session.resolveAgain(admission)
}
