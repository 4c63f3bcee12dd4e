package inference

import "net/http"

// The words that providers use, found in recorded traffic and their public
// documentation. All are compared in lower case.

// quota reports whether it is about money rather than pace: waiting a while
// does not help.
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
		r.says("maximum context length", "max context length", "maximum model length", "prompt is too long", "prompt too long",
			"input is too long", "reduce the length of the", "context_length_exceeded", "exceeds the context", "exceed context limit", "context window",
			"input token count", "total length of all messages is too long", "exceeds the model's maximum", "maximum prompt length", "available context size")
}

// filtered reports whether a content filter refused the request.
func (r Rejection) filtered() bool {
	if r.Status >= 500 || r.Status == http.StatusUnauthorized || r.Status == http.StatusTooManyRequests {
		return false
	}
	return r.has("content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed") ||
		r.says("responsibleaipolicyviolation", "content management policy", "flagged by moderation", "requires moderation")
}

// notFound reports whether there is no such model, or nothing at the URL.
func (r Rejection) notFound() bool {
	if r.Status == http.StatusNotFound || r.Status == http.StatusGone {
		return true
	}
	return r.Status < 500 && (r.has("model_not_found", "deploymentnotfound", "model_not_available", "not_found_error") ||
		r.says("is not a valid model id", "model does not exist"))
}
