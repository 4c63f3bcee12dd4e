package workflows

import (
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A verdict says what follows from how an inference ended without an answer.
type verdict int

const (
	// verdictAgain: it is made again.
	verdictAgain verdict = iota
	// verdictStop: a stop has cut it off, and with it the step.
	verdictStop
	// verdictFail: an error ends the step.
	verdictFail
)

// judge says what follows from the reply of an inference without an answer, after so many tries of at most attempts, and with
// which error where it fails. Only a stop of ours, by stopped, is one, whatever the worker says. An answer that cannot be
// read for the same reason as the one before will not be the next time.
func judge(reply contract.ModelReply, before *domain.Error, tries, attempts int, stopped bool) (verdict, *domain.Error) {
	why := reply.WhyUnanswered()
	switch reply.Outcome {
	case contract.Interrupted, contract.ShutDown:
		if tries >= attempts {
			why = domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown,
				"the inference was cut off %d times by workers that stopped", tries)
		}
	case contract.BilledFailure:
	default:
		return verdictFail, domain.Errorf(domain.Internal, "the worker's reply does not say what came of the inference")
	}
	switch {
	case stopped:
		return verdictStop, nil
	case tries >= attempts, !why.Kind.Retryable(), why.Code == domain.CodeMalformed && before != nil && *before == *why:
		return verdictFail, why
	}
	return verdictAgain, nil
}

const maxRetryAfter = time.Hour

// inferenceDelay is how long to wait before an inference is made again.
func inferenceDelay(reply contract.ModelReply, own time.Duration) time.Duration {
	asked := min(max(reply.RetryAfterMillis, 0), maxRetryAfter.Milliseconds())
	return max(time.Duration(asked)*time.Millisecond, own)
}

// An answerKind says what kind of answer a model gave.
type answerKind int

const (
	// wholeAnswer: it says something or asks for tools.
	wholeAnswer answerKind = iota
	// partialAnswer: the provider wants to be asked to go on with it.
	partialAnswer
	// emptyAnswer: it has neither text nor tool calls.
	emptyAnswer
	// filteredAnswer: the provider's filter withheld it, or the rest of it.
	filteredAnswer
)

// kindOfAnswer says what kind of answer a message is.
func kindOfAnswer(m domain.Message, response domain.Response) answerKind {
	calls := len(m.ToolCalls)
	switch {
	case response.Finish == domain.FinishOther && response.FinishWord == domain.WordPaused && calls == 0:
		return partialAnswer
	case response.Finish == domain.FinishContentFilter && calls == 0:
		return filteredAnswer
	case m.Blank() && calls == 0 && response.Finish != domain.FinishRefusal:
		return emptyAnswer
	}
	return wholeAnswer
}

// misfit is the error of an answer that does not fit the response format, or nil. A refusal is an answer in the model's own
// words, whatever the format.
func misfit(m domain.Message, response domain.Response, problems string) *domain.Error {
	if problems == "" || len(m.ToolCalls) > 0 || response.Finish == domain.FinishRefusal {
		return nil
	}
	return domain.CodedErrorf(domain.Invalid, domain.CodeInvalidOutput,
		"the answer does not fit the response format: %s", domain.Shorten(problems, domain.MaxReason/2)).From(domain.SourceOutput)
}

// maxPauses bounds how often one step lets a provider go on.
const maxPauses = 16

// stepError is an error as a step ends with it: bounded, and with its source.
func stepError(err *domain.Error) *domain.Error {
	err = contract.Bounded(err)
	if err.Source == "" {
		err = err.From(domain.SourceInference)
	}
	return err
}
