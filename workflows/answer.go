package workflows

import (
	"encoding/json"
	"slices"
	"strings"

	"everstep/domain"
	"everstep/domain/hook"
)

// answered takes a whole answer. It answers false where there is nothing in it
// and the model is to be asked once more.
func (s *session) answered(step *turn, reply domain.ModelReply, room reservation, again bool) bool {
	m, _ := sound(reply.Message)
	given := hook.Answer{Message: m.Clone(), Response: reply.Response}
	made := fire(s, domain.TriggerAfterInference, given)
	response, digest, invalid := made.Response, reply.Digest, reply.Invalid
	s.guarded.Rewritten = !made.Message.Equal(m)
	if s.guarded.Rewritten {
		m, _ = sound(&made.Message)
		m.ToolCalls = distinct(step, m.ToolCalls)
		digest = fingerprint(m, reply.Digest)
		invalid = s.checkOutput(m)
	}
	step.content.Response = &response
	calls := len(m.ToolCalls)
	s.tell(domain.InferenceResponseReceived{
		EventHeader: s.head(), FinishReason: response.Finish, Usage: reply.Response.Usage.Add(reply.Spent), ToolCalls: calls,
	})
	if response.Finish == domain.FinishOther && response.FinishWord == domain.WordPaused && calls == 0 {
		return s.answeredInPart(step, m, digest)
	}
	if blank(m) && calls == 0 && response.Finish != domain.FinishRefusal {
		return s.answeredNothing(step, response.Finish, room, room.bound(reply), again)
	}
	if calls > domain.MaxRequestedCalls {
		s.stepFailed(step, domain.CodedErrorf(domain.TooLarge, domain.CodeMalformed,
			"the model asked for %d tool calls in one answer; at most %d are taken", calls, domain.MaxRequestedCalls))
		return true
	}
	// A refusal is an answer in the model's own words, whatever the format.
	if calls == 0 && invalid != "" && response.Finish != domain.FinishRefusal {
		s.answeredInvalid(step, invalid)
	}
	step.at = s.log.Len()
	if len(m.Parts)+calls > 0 {
		s.say(step, "", m, digest, domain.Tag{Trace: calls > 0 || step.invalid})
	}
	step.calls = m.ToolCalls
	if response.Finish == domain.FinishLength && room.bound(reply) && calls == 0 {
		s.signalShort(room.clamp())
	}
	return true
}

// maxPaused bounds how often one step lets a provider go on.
const maxPaused = 16

// answeredInPart takes a part of an answer after which the provider wants to be
// asked to go on.
func (s *session) answeredInPart(step *turn, m domain.Message, digest domain.Digest) bool {
	if len(m.Parts) > 0 {
		s.say(step, "", m, digest, domain.Tag{Trace: true})
	}
	switch step.paused++; {
	case s.stop.noTools() || step.halts > 0:
		step.cutOff(domain.Unavailable, "the model paused in its answer, and was not asked to go on because of a stop")
	case step.paused > maxPaused:
		s.stepFailed(step, domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "the model paused %d times in one answer", step.paused))
	default:
		return false
	}
	return true
}

// answeredNothing takes an answer with neither text nor tool calls.
func (s *session) answeredNothing(step *turn, finish domain.FinishReason, room reservation, bound, again bool) bool {
	switch {
	case finish == domain.FinishContentFilter:
		s.stepFailed(step, domain.CodedErrorf(domain.Denied, domain.CodeFiltered, "the provider's filter withheld the answer"))
	case finish == domain.FinishLength && bound:
		// What the budget left went into reasoning; asking again would too.
		s.signalShort(room.clamp())
	case s.stop.noTools() || step.halts > 0:
		step.cutOff(domain.Unavailable, "the model gave neither text nor tool calls, and was not asked again because of a stop")
	case again:
		s.stepFailed(step, domain.CodedErrorf(domain.Unavailable, domain.CodeEmptyResponse, "the model gave neither text nor tool calls, twice"))
	default:
		return false
	}
	return true
}

// sound returns a model's message as the transcript may take it, whatever the
// worker that sent it was. It answers false where there is none.
func sound(m *domain.Message) (domain.Message, bool) {
	if m == nil {
		return domain.Message{Role: domain.RoleAssistant}, false
	}
	own := *m
	own.Role, own.ToolResult = domain.RoleAssistant, nil
	own.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p domain.Part) bool {
		return p.Type == "" || len(p.Opaque) > 0 && !json.Valid(p.Opaque)
	})
	return own, true
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

// blank reports whether a message has no text that can be seen.
func blank(m domain.Message) bool { return strings.TrimSpace(m.Text()) == "" }
