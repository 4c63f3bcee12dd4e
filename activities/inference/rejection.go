package inference

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"everstep/domain"
)

// A Rejection is what a provider said instead of an answer: with an HTTP
// status, or inside a response of status 200.
type Rejection struct {
	// Status is the HTTP status, or the one named in the body. Zero: none.
	Status int
	// Code, Type, Param and Message are the provider's words. Message must be
	// free of keys: it is shown.
	Code, Type, Param, Message string
	// Hint is more of the provider's words, read to understand and not shown.
	Hint string
	// RequestID is the provider's id of the request, where the body names it.
	RequestID string
	// Server is the base URL that was asked, with nothing secret in it. Empty:
	// it is not told.
	Server string
	// RetryAfter is the delay that the provider asked for.
	RetryAfter time.Duration
	// Asked means that it asked for a delay, be it of zero.
	Asked bool
	// Begun means that the provider had begun to answer, so that the attempt
	// may be billed whatever it says.
	Begun bool
	// Again is the provider's own word on whether to try again.
	Again Advice
}

// maxShown bounds how much of a provider's message is shown.
const maxShown = 600

// Error says what to do about it. The source is the provider.
func (r Rejection) Error(config domain.LLMConfig) *domain.Error {
	err := r.heed(r.classify(config), config)
	err.Source = config.Provider
	err.RetryAfter = r.RetryAfter
	err.Billed = err.Billed || r.Begun || gateway(r.Status)
	return err
}

func (r Rejection) classify(config domain.LLMConfig) *domain.Error {
	switch {
	case r.quota():
		return domain.CodedErrorf(domain.Denied, domain.CodeQuota, "%s: the account has no money or quota left%s", config.Provider, r.said())
	case r.filtered():
		return domain.CodedErrorf(domain.Denied, domain.CodeFiltered, "%s: the provider's filter refused the request%s", config.Provider, r.said())
	case r.overflow():
		return domain.CodedErrorf(domain.TooLarge, domain.CodeContextOverflow, "%s: the conversation exceeds the context of model %s%s", config.Provider, config.Model, r.said())
	case r.auth():
		return domain.CodedErrorf(domain.Denied, domain.CodeAuth, "%s: the provider refused the key%s%s; check the key that the worker has", config.Provider, r.refusal(), r.behind())
	case r.notFound():
		return domain.CodedErrorf(domain.Invalid, domain.CodeModelNotFound, "%s: no model %s %s%s; check the model's name and the base URL", config.Provider, config.Model, r.place(), r.said())
	case r.has("tool_use_failed"):
		err := domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "%s: the model wrote a tool call that the provider could not read%s", config.Provider, r.said())
		err.Billed = true
		return err
	}
	return domain.Errorf(r.kind(), "%s: %s%s", config.Provider, r.summary(), r.said())
}

// kind is what the status says, else the words.
func (r Rejection) kind() domain.Kind {
	switch s := r.Status; {
	case s == http.StatusTooManyRequests, s == http.StatusPaymentRequired:
		return domain.Throttled
	case s == http.StatusRequestTimeout, s == http.StatusConflict, s == http.StatusTooEarly:
		return domain.Unavailable
	case s == http.StatusNotImplemented, s == http.StatusHTTPVersionNotSupported:
		return domain.Invalid
	case s >= 500, s == statusCancelled:
		return domain.Unavailable
	case s >= 400:
		return domain.Invalid
	case r.has("rate_limit", "resource_exhausted", "too_many_requests", "throttl"):
		return domain.Throttled
	case r.has("invalid_request", "invalid_argument", "unsupported"):
		return domain.Invalid
	}
	return domain.Unavailable
}

// statusCancelled is how proxies, and Google, call a request that was given up.
const statusCancelled = 499

func (r Rejection) summary() string {
	switch r.kind() {
	case domain.Throttled:
		return "too many requests" + r.status()
	case domain.Unavailable:
		return "the provider failed" + r.status()
	case domain.Invalid, domain.Denied, domain.TooLarge, domain.Internal:
	}
	return "the provider refused the request" + r.status()
}

// refusal is what to show of a refused key: providers repeat a part of it,
// but not where the key is good and the right is what lacks.
func (r Rejection) refusal() string {
	if r.Status == http.StatusForbidden {
		return r.status() + r.said()
	}
	return r.status()
}

// behind names the server after what it said, where it is known.
func (r Rejection) behind() string {
	if r.Server == "" {
		return ""
	}
	return ", at " + r.Server
}

// place is where the model was looked for.
func (r Rejection) place() string {
	if r.Server == "" {
		return "there"
	}
	return "at " + r.Server
}

func (r Rejection) status() string {
	if r.Status == 0 {
		return ""
	}
	return fmt.Sprintf(" (HTTP %d)", r.Status)
}

// said is the provider's message, bounded, with the parameter it names.
func (r Rejection) said() string {
	message := strings.Join(strings.Fields(clean(r.Message)), " ")
	if message == "" {
		message = r.Code
	}
	if message == "" {
		return ""
	}
	if len(message) > maxShown {
		message = strings.ToValidUTF8(message[:maxShown], "") + "…"
	}
	if r.Param != "" && !strings.Contains(message, r.Param) {
		return fmt.Sprintf(": %s (parameter %s)", message, r.Param)
	}
	return ": " + message
}

// has reports whether the code or the type contains one of the words.
func (r Rejection) has(words ...string) bool {
	return contains(strings.ToLower(r.Code+"\n"+r.Type), words)
}

// says reports whether the message, or what is behind it, contains one of the texts.
func (r Rejection) says(texts ...string) bool {
	return contains(strings.ToLower(r.Message+"\n"+r.Hint), texts)
}

func contains(text string, any []string) bool {
	for _, a := range any {
		if strings.Contains(text, a) {
			return true
		}
	}
	return false
}

// gateway reports whether a status is the word of something before the model,
// which may have done its work all the same.
func gateway(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusGatewayTimeout || status >= 520 && status <= 524
}
