package workflows

import (
	"slices"

	"everstep/domain"
	"everstep/domain/hook"
	"everstep/domain/progress"
)

// answered takes a whole answer. It answers false where there is nothing in it
// and the model is to be asked once more.
func (s *session) answered(step *turn, reply domain.ModelReply, room prepared, again bool) bool {
	m, _ := progress.Sound(reply.Message)
	given := hook.Answer{Message: m.Clone(), Response: reply.Response}
	made := fire(s, domain.TriggerAfterInference, given)
	response, digest, invalid := made.Response, reply.Digest, reply.Invalid
	s.guarded.Rewritten = !made.Message.Equal(m)
	if s.guarded.Rewritten {
		m, _ = progress.Sound(&made.Message)
		m.ToolCalls = distinct(step, m.ToolCalls)
		digest = fingerprint(m, reply.Digest)
		invalid = s.checkOutput(room.permit, m)
	}
	s.learn(step, progress.Answered{Message: m, Response: response, Invalid: invalid})
	calls := len(m.ToolCalls)
	s.emit(domain.InferenceResponseReceived{
		EventHeader: s.head(), FinishReason: response.Finish, Usage: reply.Response.Usage.Add(reply.Spent), ToolCalls: calls,
	})
	switch progress.Read(m, response) {
	case progress.InPart:
		return s.answeredInPart(step, m, digest)
	case progress.Nothing:
		return s.answeredNothing(step, response.Finish, room.Reservation, room.Bound(reply), again)
	case progress.TooMany:
		s.stepFailed(step, progress.TooManyCalls(calls))
		return true
	case progress.Whole:
	}
	if misfit := progress.Misfit(m, response, invalid); misfit != nil {
		s.answeredInvalid(step, misfit, invalid)
	}
	step.at = s.conversation.Len()
	if len(m.Parts)+calls > 0 {
		s.say(step, "", m, digest, domain.Tag{Trace: calls > 0 || step.invalid})
	}
	step.calls = m.ToolCalls
	if response.Finish == domain.FinishLength && room.Bound(reply) && calls == 0 {
		s.signalShort(room.Limit())
	}
	return true
}

// answeredInPart takes a part of an answer after which the provider wants to be
// asked to go on.
func (s *session) answeredInPart(step *turn, m domain.Message, digest domain.Digest) bool {
	if len(m.Parts) > 0 {
		s.say(step, "", m, digest, domain.Tag{Trace: true})
	}
	switch step.paused++; {
	case s.mail.NoTools() || step.halts > 0:
		s.learn(step, progress.CutOff{By: progress.StopAtPause})
	case step.paused > progress.MaxPauses:
		s.stepFailed(step, progress.TooManyPauses(step.paused))
	default:
		return false
	}
	return true
}

// answeredNothing takes an answer with neither text nor tool calls.
func (s *session) answeredNothing(step *turn, finish domain.FinishReason, room domain.Reservation, bound, again bool) bool {
	switch {
	case finish == domain.FinishContentFilter:
		s.stepFailed(step, progress.Withheld())
	case finish == domain.FinishLength && bound:
		// What the budget left went into reasoning; asking again would too.
		s.signalShort(room.Limit())
	case s.mail.NoTools() || step.halts > 0:
		s.learn(step, progress.CutOff{By: progress.StopAtNothing})
	case again:
		s.stepFailed(step, progress.NothingTwice())
	default:
		return false
	}
	return true
}

// distinct gives the calls that a hook has made ids of their own, where they
// have none or share one: by it a result finds its call.
func distinct(step *turn, calls []domain.ToolCall) []domain.ToolCall {
	taken := make(map[string]bool, len(calls))
	calls = slices.Clone(calls)
	for i, call := range calls {
		if call.ID == "" || taken[call.ID] {
			calls[i].ID = step.id.Tool(i).String()
		}
		taken[calls[i].ID] = true
	}
	return calls
}
