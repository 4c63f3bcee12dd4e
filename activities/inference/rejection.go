package inference

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"everstep/domain"
)

// A Rejection is what a provider said instead of an answer, be it with status 200.
type Rejection struct {
	// Status is the HTTP status, or the one named in the body. Zero: none.
	Status int
	// Code, Type, Param and Message are the provider's words. Message is shown: no keys in it.
	Code, Type, Param, Message string
	// Hint is more of the provider's words, read to understand and not shown.
	Hint string
	// Written is what the model wrote that the provider could not read, where the body has it.
	Written string
	// RequestID is the provider's id of the request, where the body names it.
	RequestID string
	// Server is the base URL that was asked, with nothing secret in it. Empty: it is not told.
	Server string
	// RetryAfter is the delay that the provider asked for.
	RetryAfter time.Duration
	// Asked means that it asked for a delay, be it of zero.
	Asked bool
	// Begun means that an answer had begun, so that the attempt may be billed whatever it says.
	Begun bool
	// ShouldRetry is the header by which Anthropic and OpenAI say whether the same request may
	// succeed: true or false. All else says nothing.
	ShouldRetry string
}

const maxShown = 600

// Error says what to do about it. The source is the provider.
func (r Rejection) Error(config domain.LLMConfig) *domain.Error {
	err := r.heed(r.classify(config), config)
	err.Source = config.Provider
	err.RetryAfter = r.RetryAfter
	if err.Code == domain.CodeContextOverflow {
		err.Window = r.window()
	}
	err.Billed = err.Billed || r.Begun || gateway(r.Status)
	return err
}

func (r Rejection) classify(config domain.LLMConfig) *domain.Error {
	switch {
	case r.quota():
		return domain.CodedErrorf(domain.Denied, domain.CodeQuota, "%s: the account has no money or quota left%s", config.Provider, r.said())
	case r.filtered():
		return domain.CodedErrorf(domain.Denied, domain.CodeFiltered, "%s: the provider's filter refused the request%s", config.Provider, r.said())
	case r.oversized():
		return domain.CodedErrorf(domain.TooLarge, domain.CodeContextOverflow, "%s: the request is larger than the account may send%s", config.Provider, r.said())
	case r.overflow():
		return domain.CodedErrorf(domain.TooLarge, domain.CodeContextOverflow, "%s: the conversation exceeds the context of model %s%s", config.Provider, config.Model, r.said())
	case r.auth():
		return domain.CodedErrorf(domain.Denied, domain.CodeAuth, "%s: the provider refused the key%s%s; check the key that the worker has", config.Provider, r.refusal(), r.at(", at ", ""))
	case r.notFound():
		return domain.CodedErrorf(domain.Invalid, domain.CodeModelNotFound, "%s: no model %s %s%s; check the model's name and the base URL", config.Provider, config.Model, r.at("at ", "there"), r.said())
	case r.miswritten():
		err := domain.CodedErrorf(domain.Invalid, domain.CodeMalformed, "%s: the model wrote a tool call that the provider could not read%s", config.Provider, r.said())
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
	case r.has("invalid_", "unsupported", "image", "data_residency_mismatch") && !r.has("failed_to_"):
		return domain.Invalid
	}
	return domain.Unavailable
}

// statusCancelled is how proxies, and Google, call a request that was given up.
const statusCancelled = 499

func (r Rejection) summary() string {
	words := map[domain.Kind]string{domain.Throttled: "too many requests", domain.Unavailable: "the provider failed"}
	return cmp.Or(words[r.kind()], "the provider refused the request") + r.status()
}

// refusal is what to show of a refused key, a part of which providers repeat where it is wrong.
func (r Rejection) refusal() string {
	if r.Status == http.StatusForbidden {
		return r.status() + r.said()
	}
	return r.status()
}

// at names the server after some words, where it is known, else gives others.
func (r Rejection) at(words, unknown string) string {
	if r.Server == "" {
		return unknown
	}
	return words + r.Server
}

func (r Rejection) status() string {
	if r.Status == 0 {
		return ""
	}
	return fmt.Sprintf(" (HTTP %d)", r.Status)
}

// said is the provider's message, bounded, with the parameter it names.
func (r Rejection) said() string {
	message := cmp.Or(strings.Join(strings.Fields(clean(r.Message)), " "), r.Code)
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
	return containsAny(r.Code+"\n"+r.Type, words)
}

// says reports whether the message, or what is behind it, contains one of the texts.
func (r Rejection) says(texts ...string) bool {
	return containsAny(r.Message+"\n"+r.Hint, texts)
}

func containsAny(text string, some []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(some, func(one string) bool { return strings.Contains(text, one) })
}

// gateway reports whether a status is of something before the model, which may have done its work.
func gateway(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusGatewayTimeout || status >= 520 && status <= 524
}

// heed follows the provider's advice where nothing is known but a status. Where a code says
// what happened, no advice makes a try of it.
func (r Rejection) heed(err *domain.Error, config domain.LLMConfig) *domain.Error {
	advice := strings.ToLower(strings.TrimSpace(r.ShouldRetry))
	switch {
	case err.Code != "":
	case advice == "true" && err.Kind == domain.Invalid:
		err.Kind = domain.Unavailable
	case advice == "false" && err.Kind == domain.Throttled:
		return domain.CodedErrorf(domain.Denied, domain.CodeQuota, "%s: there are too many requests, and the provider says that waiting does not help%s", config.Provider, r.said())
	case advice == "false" && err.Kind == domain.Unavailable:
		return domain.CodedErrorf(domain.Denied, domain.CodeGivenUp, "%s: the provider failed%s and says that another try would fail too%s", config.Provider, r.status(), r.said())
	}
	return err
}

// The words that providers use, found in recorded traffic and their public
// documentation. All are compared in lower case.

// quota reports whether it is about money rather than pace: waiting does not help.
func (r Rejection) quota() bool {
	switch r.Status {
	case http.StatusPaymentRequired:
		return !r.Asked // with a delay it is a budget in flight, which comes back
	case 0, http.StatusBadRequest, http.StatusForbidden, http.StatusTooManyRequests:
	default:
		return false
	}
	if r.has("insufficient_quota", "credit_balance", "billing", "spend_limit", "usage_limit", "insufficient_credit",
		"insufficient_balance", "insufficient_funds", "payment_required") {
		return true
	}
	if r.says("perday", "prepayment credits") {
		return true // a day's quota, or money, does not come back while one waits
	}
	if r.has("resource_exhausted") || r.Asked && !r.says("credit") {
		return false
	}
	return r.says("exceeded your current quota", "credit balance is too low", "insufficient balance", "insufficient credits",
		"insufficient_quota", "spend limit", "spending limit", "usage limits", "run out of credits", "used all available credits")
}

// auth reports whether the key is what was refused.
func (r Rejection) auth() bool {
	switch r.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return true
	case 0, http.StatusBadRequest:
		return r.has("invalid_api_key", "authentication_error", "permission_error", "unauthorized", "unauthenticated") ||
			r.says("incorrect api key", "invalid api key", "api key not valid", "api key is invalid", "api key expired", "api key not found", "api_key_invalid")
	}
	return false
}

// oversized reports whether one request exceeds what the account may use in a minute, which
// no waiting mends, though the status is that of too many.
func (r Rejection) oversized() bool {
	switch r.Status {
	case 0, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return r.says("request too large", "request is too large") && r.says("per min", "(tpm)", "must be reduced", "reduce your message")
	}
	return false
}

// overflow reports whether the conversation is longer than the model's window.
func (r Rejection) overflow() bool {
	switch r.Status {
	case http.StatusRequestEntityTooLarge:
		return true
	case 0, http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return false
	}
	return r.has("context_length_exceeded", "too_many_prompt_tokens", "too_many_tokens", "request_too_large",
		"context_window_exceeded", "exceed_context_size") ||
		r.says("context length", "maximum model length", "prompt is too long", "prompt too long",
			"input is too long", "reduce the length of the", "context_length_exceeded", "exceeds the context", "exceed context limit", "context window",
			"input token count", "total length of all messages is too long", "exceeds the model's maximum", "maximum prompt length", "available context size", "`inputs` tokens + `max_new_tokens`",
			"model token limit", "tokens in the prompt cannot exceed", "range of input length",
			"prompt exceeds max length", "less than max_seq_len")
}

// filtered reports whether a content filter refused the request.
func (r Rejection) filtered() bool {
	if r.Status >= 500 || r.Status == http.StatusUnauthorized || r.Status == http.StatusTooManyRequests {
		return false
	}
	return r.has("content_filter", "_policy", "responsibleaipolicyviolation", "data_inspection_failed") ||
		r.has("invalid_prompt") && !r.overflow() ||
		r.says("responsibleaipolicyviolation", "content management policy", "flagged by moderation", "requires moderation")
}

// miswritten reports whether the provider could not take a tool call that the model wrote.
func (r Rejection) miswritten() bool {
	switch r.Status {
	case 0, http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusFailedDependency, http.StatusInternalServerError:
	default:
		return false
	}
	return r.has("tool_use_failed", "malformed_function_call", "unexpected_tool_call") ||
		r.says("tool call validation failed", "which was not in request.tools", "error parsing tool call", "failed to parse tool call",
			"failed to call a function", "invalid sequence as part of tooluse", "malformed_function_call", "unexpected_tool_call") ||
		r.says("parameters for tool") && r.says("did not match schema")
}

// notFound reports whether there is no such model, or nothing at the URL.
func (r Rejection) notFound() bool {
	if r.Status == http.StatusNotFound || r.Status == http.StatusGone {
		return !r.says("no endpoints found that support")
	}
	return r.Status < 500 && (r.has("model_not_found", "deploymentnotfound", "model_not_available", "not_found_error") ||
		r.says("is not a valid model id", "model does not exist"))
}
