package client

import "everstep/domain"

// advice is what to do about the ending.
func (e *explanation) advice(v ExplainView) []ExplainAdvice {
	advice := []ExplainAdvice{}
	if v.Doing != nil && v.Doing.Paused {
		return append(advice, ExplainAdvice{Text: "it is paused: nothing new starts until it is resumed", Command: "resume " + v.ID})
	}
	if v.Ending == nil || v.Status == domain.StatusCompleted {
		return advice
	}
	goOn := ""
	switch {
	case e.older:
	case e.byServer, e.name != "" && !e.open():
		advice = append(advice, ExplainAdvice{Text: "nothing can go on from it: its workflow is closed. Begin anew"})
	default:
		goOn = raise(v.ID, v.Budget)
	}
	if v.Ending.Error != nil {
		return append([]ExplainAdvice{{Text: remedy(*v.Ending.Error), Command: goOn}}, advice...)
	}
	if text := nextStep(v.Ending.StopReason); goOn != "" && text != "" {
		advice = append(advice, ExplainAdvice{Text: text, Command: goOn})
	}
	return advice
}

// nextStep is what to do about a stop.
func nextStep(reason domain.StopReason) string {
	if reason.OfLimit() {
		return "raise the limit, and it goes on where it stopped; the number is a new total"
	}
	switch reason {
	case domain.RetryLimitReached:
		return "look at the errors of the last steps; mend the schema or allow more tries (guards.output_retries), then go on"
	case domain.StopRequested, domain.UserRequested, domain.Unknown:
		return "it can go on where it stopped"
	default:
	}
	return ""
}

// remedy is what to do about an error, first by what happened, then by its kind.
func remedy(err domain.Error) string {
	if text := remedyOfCode(err.Code); text != "" {
		return text
	}
	switch err.Kind {
	case domain.Invalid:
		return "the same request will fail again: mend what the message names"
	case domain.Denied:
		return "it was not allowed: see what the message names"
	case domain.Throttled:
		return "the other side has too much to do: wait a while, then go on"
	case domain.Unavailable:
		return "the other side failed or could not be reached: see that it is up, then go on"
	case domain.TooLarge:
		return "something is larger than it may be: make it smaller as the message says"
	case domain.Internal:
	}
	return "the worker's log says more; this may be a fault of the program itself"
}

// remedyOfCode is what to do about what happened; empty where the kind says it.
func remedyOfCode(code domain.Code) string {
	switch code {
	case domain.CodeAuth:
		return "the provider refused the key: set a valid one in the worker's environment and start the worker again, then go on"
	case domain.CodeQuota:
		return "the provider's account has no money or quota left: add some, or use another model, then go on"
	case domain.CodeContextOverflow:
		return "the conversation does not fit the model's window: turn compaction on, set context_window, or use a model with a larger one"
	case domain.CodeContextLost:
		return "the conversation could not be carried on: configure storage on the workers, which keeps it outside of history"
	case domain.CodeHookFailed:
		return "a hook returned an error: mend it, start the worker again, then go on"
	case domain.CodeUnknownTool:
		return "the worker does not have what the agent names: register it there, or take it out of the agent's definition"
	case domain.CodeModelNotFound:
		return "no worker knows the model, or the provider does not: see the spelling of PROVIDER/NAME"
	case domain.CodeTerminated:
		return "an operator terminated the workflow; the server's own log says who"
	case domain.CodeTimedOut:
		return "the workflow reached a time-out set with the server's own tools; start it without one"
	case domain.CodeTimeout:
		return "no worker finished the work in time: see that workers are up and stay up, or allow more time, then go on"
	case domain.CodeWorkerShutdown:
		return "workers were told to stop each time: see why they restart, then go on"
	case domain.CodeEmptyResponse:
		return "the model answered with nothing, twice: change the prompt or the model, or go on to try again"
	case domain.CodeFiltered:
		return "the provider's filter withheld the answer: change the prompt or the model"
	case domain.CodeInvalidOutput:
		return "the answer does not fit its schema: mend the schema or the prompt"
	case domain.CodeMalformed:
		return "the provider's answers could not be read: see that the address is that of a model's API, then go on"
	case domain.CodeGivenUp:
		return "the provider failed and says that trying again does not help: see its status page, or use another model, then go on"
	case domain.CodeRerouted:
		return "workers of the task queue differ in their rate limits: give all of them the same (EVERSTEP_RATE_LIMITS), then go on"
	case domain.CodeOutcomeUnknown:
		return "nobody knows whether a tool call took effect: look at the other side before you go on"
	case domain.CodeInterrupted, domain.CodeBlocked, domain.CodeNotRun:
	}
	return ""
}
