package workflows

import (
	"fmt"
	"slices"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/workflows/internal/mailbox"
)

// answered takes a whole answer, as hooks leave it, or has the model asked once
// more where there is nothing in it.
func (i *inference) answered(admission mailbox.Admission, room contract.Reservation, reply contract.ModelReply) attemptResult {
	m := sound(reply.Message)
	made := fire(i.step, domain.TriggerAfterInference, hook.Answer{Message: m, Response: reply.Response})
	response, digest, invalid := made.Response, reply.Digest, reply.Invalid
	if !made.Message.Equal(m) {
		m = sound(&made.Message)
		m.ToolCalls = i.distinct(m.ToolCalls)
		digest = fingerprint(m, reply.Digest)
		invalid = i.checkOutput(admission, m)
	}
	i.step.content.answered(response)
	calls := len(m.ToolCalls)
	i.agent.emit(domain.EventInferenceReceived, domain.InferenceResponseReceived{
		FinishReason: response.Finish, Usage: reply.Response.Usage.Add(reply.Spent), ToolCalls: calls,
	})
	refused := response.Finish == domain.FinishRefusal // in the model's own words, if any, whatever the format
	switch {
	case calls > domain.MaxRequestedCalls:
		return i.failed(domain.CodedErrorf(domain.TooLarge, domain.CodeMalformed,
			"the model asked for %d tool calls in one answer; at most %d are taken", calls, domain.MaxRequestedCalls))
	case calls > 0:
	case response.Finish == domain.FinishOther && response.FinishWord == domain.WordPaused:
		return i.answeredInPart(m, digest)
	case response.Finish == domain.FinishContentFilter:
		if !m.Blank() {
			i.step.say("", m, digest, domain.Tag{Trace: true, CutOff: true})
		}
		return i.failed(filtered())
	case m.Blank() && !refused:
		return i.answeredNothing(response.Finish, room, reply)
	case invalid != "" && !refused:
		i.answeredInvalid(invalid)
	}
	at := i.conversation.Len()
	if len(m.Parts)+calls > 0 {
		// Calls that were cut off have results that say so.
		cutOff := calls == 0 && response.Finish == domain.FinishLength
		i.step.say("", m, digest, domain.Tag{Trace: calls > 0 || i.step.repeat == inTheFormat, CutOff: cutOff})
	}
	i.step.takeCalls(m.ToolCalls, at)
	if response.Finish == domain.FinishLength && room.Bound(reply) && calls == 0 {
		i.budget.signalShort(room.Limit())
	}
	return answerTaken
}

// maxPauses bounds how often one step lets a provider go on.
const maxPauses = 16

// answeredInPart has the provider asked to go on with the answer, which it has paused in.
func (i *inference) answeredInPart(m domain.Message, digest domain.Digest) attemptResult {
	i.count.pauses++
	tooMany, noMore := i.count.pauses > maxPauses, i.step.noMore()
	if len(m.Parts) > 0 {
		i.step.say("", m, digest, domain.Tag{Trace: true, CutOff: noMore || tooMany})
	}
	switch {
	case noMore:
		i.step.content.cutOff(stopAtPause, contract.ModelReply{})
		return stepOver
	case tooMany:
		return i.failed(domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "the model paused %d times in one answer", i.count.pauses))
	}
	return i.another()
}

func (i *inference) answeredNothing(finish domain.FinishReason, room contract.Reservation, reply contract.ModelReply) attemptResult {
	i.count.nothings++
	switch {
	case finish == domain.FinishLength && room.Bound(reply):
		// What the budget left went into reasoning; asking again would too.
		i.budget.signalShort(room.Limit())
		return stepOver
	case i.step.noMore():
		i.step.content.cutOff(stopAtNothing, contract.ModelReply{})
		return stepOver
	case i.count.nothings > 1:
		return i.failed(domain.CodedErrorf(domain.Unavailable, domain.CodeEmptyResponse, "the model gave neither text nor tool calls, twice"))
	}
	wanted := "Answer in words"
	if format := i.config.Resolved.Definition.Format.Type; format != "" && format != domain.FormatText {
		wanted = "Answer in the required format"
	}
	if len(i.config.Resolved.Tools) > 0 && !i.withoutTools() {
		wanted += ", or call a tool"
	}
	nudge := domain.UserMessage("Your answer was empty. " + wanted + ".")
	i.step.say("", nudge, fingerprint(nudge, i.conversation.Log().Chain()), domain.Tag{Trace: true})
	return i.another()
}

// another asks for one more answer, which has attempts of its own.
func (i *inference) another() attemptResult {
	i.tries, i.failure = 0, nil
	return askAgain
}

func filtered() *domain.Error {
	return domain.CodedErrorf(domain.Denied, domain.CodeFiltered, "the provider's filter withheld the answer")
}

// miswrote tells the model of a call that the provider could not take, as of one that no tool takes. The guard decides
// how often.
func (i *inference) miswrote(err *domain.Error, reply contract.ModelReply) attemptResult {
	i.step.repeatFor(inItsCalls)
	i.step.content.failed(stepError(err))
	i.sayWritten(reply, false)
	i.step.interject("", domain.UserMessage(fmt.Sprintf(
		"Your tool call was not made, since it could not be read:\n%s\n\nThe tools are: %s. Call one with arguments that fit its schema, or answer without.",
		err.Message, i.config.toolList())))
	return answerTaken
}

// distinct gives the calls that a hook has made ids of their own, where they
// have none or share one: by it a result finds its call.
func (i *inference) distinct(calls []domain.ToolCall) []domain.ToolCall {
	known := make(map[string]bool, len(calls))
	calls = slices.Clone(calls)
	for n, call := range calls {
		if call.ID == "" || known[call.ID] {
			calls[n].ID = i.step.content.ID.Tool(n).String()
		}
		known[calls[n].ID] = true
	}
	return calls
}

// checkOutput asks a worker whether a message that a hook has made fits the
// response format. Nothing fails open: what cannot be checked does not fit.
func (i *inference) checkOutput(admission mailbox.Admission, m domain.Message) string {
	format := i.config.Resolved.Definition.Format
	if format.Type == "" || format.Type == domain.FormatText || len(m.ToolCalls) > 0 || m.Blank() {
		return ""
	}
	request := contract.OutputRequest{Format: format, Text: m.Text()}
	reply, err := mailbox.Await(admission, i.policy.briefOptions(checkTimeout, ownAttempts, "check the answer"), contract.CheckOutput, request)
	if err != nil {
		return "the answer could not be checked: " + errorOf(err).Message
	}
	return reply.Invalid
}

// answeredInvalid takes an answer that does not fit the response format. It is
// an error of its step, and so trace; the guard decides what follows.
func (i *inference) answeredInvalid(problems string) {
	i.step.repeatFor(inTheFormat)
	i.step.content.failed(domain.CodedErrorf(domain.Invalid, domain.CodeInvalidOutput,
		"the answer does not fit the response format: %s", domain.Shorten(problems, domain.MaxReason/2)).From(domain.SourceOutput))
	if i.step.session.guards.misfit() > i.config.guards().Retries() {
		return
	}
	i.step.interject("", domain.UserMessage(fmt.Sprintf(
		"Your answer does not fit the required format:\n%s\n\nAnswer again, with the whole corrected answer and nothing else.",
		strings.TrimSpace(problems))))
}

// summarised joins a summary to the transcript. Where there is none the step
// fails: going on without would forget what was said.
func (i *inference) summarised(reply contract.ModelReply) attemptResult {
	m := sound(reply.Message)
	m.Role, m.ToolCalls = domain.RoleUser, nil
	i.agent.emit(domain.EventInferenceReceived, domain.InferenceResponseReceived{
		FinishReason: reply.Response.Finish, Usage: reply.Response.Usage.Add(reply.Spent),
	})
	if reply.Response.Finish == domain.FinishContentFilter {
		return i.failed(filtered())
	}
	if len(m.Parts) == 0 || (domain.Message{Parts: m.Parts[len(m.Parts)-1:]}).Blank() {
		return i.failed(domain.CodedErrorf(domain.Unavailable, domain.CodeContextOverflow,
			"the conversation nears the model's window of %d tokens, and the model gave no summary of it", i.conversation.Window(i.config.Resolved)))
	}
	i.step.say(domain.SectionSummary, m, reply.Digest, domain.Tag{})
	i.conversation.summed(*i.plan)
	i.step.keep()
	return answerTaken
}
