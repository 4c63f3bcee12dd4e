package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"everstep/activities/inference"
	"everstep/domain"
)

// explain makes any failure of the attempt a *domain.Error: one that is one
// already stays as it is. Nil stays nil.
func (a *Attempt) explain(err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(a.ctx); errors.Is(cause, errQuiet) {
		err = cause
	}
	typed, ok := errors.AsType[*domain.Error](err)
	long, isLong := errors.AsType[*tooLong](err)
	name, host := a.client.api.Name, a.Base.Host
	switch {
	case ok:
		return typed
	case errors.Is(err, errQuiet) && !a.sent.Load():
		typed = domain.CodedErrorf(domain.Unavailable, domain.CodeTimeout, "%s: cannot reach %s: no connection in %s; check the base URL", name, host, a.timeouts.Connect)
	case errors.Is(err, errQuiet):
		typed = domain.CodedErrorf(domain.Unavailable, domain.CodeTimeout, "%s: %s sent nothing for too long", name, host)
	case isLong:
		typed = domain.Errorf(domain.TooLarge, "%s: %s", name, long)
	case a.body != nil:
		typed = domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "%s: the answer was cut off: %s", name, a.cause(err))
	case a.sent.Load():
		typed = domain.Errorf(domain.Unavailable, "%s: the connection to %s broke before an answer came: %s", name, host, a.cause(err))
	default:
		typed = domain.Errorf(domain.Unavailable, "%s: cannot reach %s: %s; check the base URL", name, host, a.cause(err))
	}
	typed.Source, typed.Billed, typed.Detail = name, a.sent.Load(), a.detail(nil)
	return typed
}

// cause is what went wrong without the URL, which may hold a secret.
func (a *Attempt) cause(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return a.Redact(err.Error())
}

// Malformed is the error of an answer that is none. The body is what came in
// its place, or the part of it that is wrong; its beginning is kept for
// operators.
func (a *Attempt) Malformed(what string, body []byte) error {
	return a.malformed(what, body)
}

func (a *Attempt) malformed(what string, body []byte) *domain.Error {
	name := a.client.api.Name
	err := domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "%s: %s", name, what).From(name)
	err.Billed, err.Detail = true, a.detail(body)
	return err
}

// Redact takes the key, also one used of late, out of a text that comes from
// elsewhere.
func (a *Attempt) Redact(text string) string { return a.client.secrets.redact(text) }

const (
	// maxDetail bounds what operators get to see of a body.
	maxDetail = 1 << 10
	// maxExcerpt is how much of a body is looked at for that: enough that a key
	// at its border is seen whole.
	maxExcerpt = maxDetail + maxKeyFile
)

// detail is what operators get to see: the provider's id of the request and
// the beginning of what it sent.
func (a *Attempt) detail(body []byte) string {
	text := a.Redact(strings.ToValidUTF8(string(body[:min(len(body), maxExcerpt)]), "?"))
	text = strings.ToValidUTF8(text[:min(len(text), maxDetail)], "")
	switch {
	case a.RequestID == "":
		return text
	case text == "":
		return "request " + a.RequestID
	}
	return "request " + a.RequestID + ": " + text
}

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 64 << 10

// rejected is the error of a response that has another status than 200.
func (a *Attempt) rejected(response *http.Response) *domain.Error {
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		name := a.client.api.Name
		return domain.Errorf(domain.Invalid, "%s: %s answers with a redirect (HTTP %d), which is not followed; give the server's final base URL",
			name, a.Base.Host, response.StatusCode).From(name)
	}
	// What was read before a failure still tells more than nothing.
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	if response.StatusCode < 300 {
		return a.malformed(fmt.Sprintf("the response has status %d and no answer", response.StatusCode), body)
	}
	r := ParseRejection(body)
	r.Status, r.Again = response.StatusCode, inference.AdviceOf(response.Header)
	if delay, asked := inference.RetryAfter(response.Header, time.Now()); asked {
		r.RetryAfter, r.Asked = delay, true
	}
	return a.refused(r, body)
}

// Inner is the error that came inside a response of status 200: its body, the
// event's data, or the value that says what went wrong.
func (a *Attempt) Inner(body []byte) error {
	r := ParseRejection(body)
	r.Begun = true
	return a.refused(r, body)
}

func (a *Attempt) refused(r inference.Rejection, body []byte) *domain.Error {
	if a.RequestID == "" && a.client.isRequestID(r.RequestID) {
		a.RequestID = r.RequestID
	}
	r.Message, r.Code, r.Param = a.Redact(r.Message), a.Redact(r.Code), a.Redact(r.Param)
	r.Server = a.server()
	err := r.Error(a.call.Config)
	err.Detail = a.detail(body)
	return err
}

// server is the base URL without its query, in which some servers want a key.
func (a *Attempt) server() string {
	plain := *a.Base
	plain.RawQuery = ""
	return a.Redact(plain.String())
}

// windowExceeded is how providers say that an answer ended where the model's
// window was full.
const windowExceeded = "model_context_window_exceeded"

// overflow is the error of an answer that ended, by the provider's own word,
// where the model's window was full: what came of it is no answer, and the same
// conversation would end the same. Nil for all other words.
func (a *Attempt) overflow(word string) error {
	if strings.ToLower(word) != windowExceeded {
		return nil
	}
	err := domain.CodedErrorf(domain.TooLarge, domain.CodeContextOverflow, "%s: the answer was cut off where the conversation exceeds the context of model %s",
		a.client.api.Name, a.call.Config.Model).From(a.client.api.Name)
	err.Billed, err.Detail = true, a.detail(nil)
	return err
}
