package inference

import (
	"net/http"
	"strings"

	"everstep/domain"
)

// An Advice is a provider's word on whether to try again, beside the status.
type Advice string

const (
	// AdviceNone: it says nothing, so the status decides.
	AdviceNone Advice = ""
	// AdviceRetry: the same request may succeed, whatever the status.
	AdviceRetry Advice = "retry"
	// AdviceGiveUp: the same request fails again, whatever the status.
	AdviceGiveUp Advice = "give_up"
)

// AdviceOf reads the header in which Anthropic, and OpenAI to its own SDKs, say
// it. What is neither true nor false says nothing.
func AdviceOf(header http.Header) Advice {
	switch strings.ToLower(strings.TrimSpace(header.Get("X-Should-Retry"))) {
	case "true":
		return AdviceRetry
	case "false":
		return AdviceGiveUp
	}
	return AdviceNone
}

// heed follows the provider's advice where nothing is known but a status. An
// error whose code says what happened stays as it is: no advice makes a try of
// what is about money, a key, a model's name, a filter, or the length of the
// conversation.
func (r Rejection) heed(err *domain.Error, config domain.LLMConfig) *domain.Error {
	switch {
	case err.Code != "" || r.Again == AdviceNone:
	case r.Again == AdviceRetry && err.Kind == domain.Invalid:
		err.Kind = domain.Unavailable
	case r.Again == AdviceGiveUp && err.Kind == domain.Throttled:
		return domain.CodedErrorf(domain.Denied, domain.CodeQuota, "%s: there are too many requests, and the provider says that waiting does not help%s", config.Provider, r.said())
	case r.Again == AdviceGiveUp && err.Kind == domain.Unavailable:
		return domain.CodedErrorf(domain.Denied, domain.CodeGivenUp, "%s: the provider failed%s and says that another try would fail too%s", config.Provider, r.status(), r.said())
	}
	return err
}
