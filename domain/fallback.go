package domain

import "slices"

// A Fallback is a model that takes over where the one before it failed for
// good. It begins with the next step and stays for the rest of the execution;
// the failed step is kept, with its error.
type Fallback struct {
	Model LLMConfig `json:"model"`
	// On are the failures that it takes over from. Absent: all that say nothing
	// of the conversation, so that another provider may well answer; those are
	// all but context_overflow and filtered.
	On []Failure `json:"on,omitempty"`
}

// A Failure names the failures of a model that a fallback takes over from.
type Failure string

const (
	// FailureUnavailable: the provider failed or could not be reached, as often
	// as it was tried, or said that trying again would not help.
	FailureUnavailable Failure = "unavailable"
	// FailureThrottled: there were too many requests, as often as it was tried.
	FailureThrottled Failure = "throttled"
	// FailureQuota: the account has no money or quota left.
	FailureQuota Failure = "quota"
	// FailureAuth: the provider refused the key.
	FailureAuth Failure = "auth"
	// FailureModelNotFound: there is no such model.
	FailureModelNotFound Failure = "model_not_found"
	// FailureContextOverflow: the conversation is too long for the model.
	FailureContextOverflow Failure = "context_overflow"
	// FailureFiltered: the provider's filter withheld the answer.
	FailureFiltered Failure = "filtered"
)

// Failures lists every failure.
func Failures() []Failure {
	return []Failure{
		FailureUnavailable, FailureThrottled, FailureQuota, FailureAuth,
		FailureModelNotFound, FailureContextOverflow, FailureFiltered,
	}
}

// UnmarshalText accepts the known failures only.
func (f *Failure) UnmarshalText(text []byte) error {
	return decodeEnum(f, text, Failures(), "failure")
}

// FailureOf names an error as fallbacks do; ok is false where none takes over.
func FailureOf(err *Error) (failure Failure, ok bool) {
	if slices.Contains(Failures(), Failure(err.Code)) {
		return Failure(err.Code), true
	}
	if slices.Contains([]Code{CodeTimeout, CodeMalformed, CodeEmptyResponse, CodeWorkerShutdown, CodeGivenUp}, err.Code) {
		return FailureUnavailable, true
	}
	if err.Kind.Retryable() {
		return Failure(err.Kind), true
	}
	return "", false
}

// Takes reports whether the fallback takes over from a failure.
func (f Fallback) Takes(failure Failure) bool {
	if len(f.On) == 0 {
		return failure != FailureContextOverflow && failure != FailureFiltered
	}
	return slices.Contains(f.On, failure)
}
