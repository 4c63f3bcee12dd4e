package wire

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"everstep/domain"
)

// Explain makes any failure of the attempt a *domain.Error: one that is one
// already stays as it is. Nil stays nil.
func (a *Attempt) Explain(err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(a.ctx); errors.Is(cause, errQuiet) {
		err = cause
	}
	typed, ok := errors.AsType[*domain.Error](err)
	long, isLong := errors.AsType[*tooLong](err)
	name, host := a.client.api.Name, a.base.Host
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
	case a.requestID == "":
		return text
	case text == "":
		return "request " + a.requestID
	}
	return "request " + a.requestID + ": " + text
}
