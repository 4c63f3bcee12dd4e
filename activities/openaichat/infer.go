package openaichat

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"github.com/openai/openai-go/v3/option"

	"everstep/activities/inference"
	"everstep/domain"
)

// Infer makes one request and returns when the answer is whole.
func (p *Provider) Infer(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
	base, err := p.baseURL(call.Config)
	if err != nil {
		return inference.Answer{}, err
	}
	body, err := encode(call, official(base))
	if err != nil {
		return inference.Answer{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &attempt{provider: p, call: call, base: base, quiet: newQuiet(p.config.FirstByteTimeout, cancel)}
	defer a.quiet.stop()

	response, err := a.post(ctx, body)
	if err != nil {
		return inference.Answer{Partial: true}, a.explain(ctx, err)
	}
	defer response.Body.Close()
	answer, err := a.read(response, emit)
	if err != nil {
		return answer, a.explain(ctx, err)
	}
	return answer, nil
}

// An attempt is one request and what is known of it.
type attempt struct {
	provider *Provider
	call     inference.Call
	base     *url.URL
	quiet    *quiet
	// sent says that a byte of the request may have left.
	sent atomic.Bool
	// body is the response's, where its status is 200.
	body *guarded
}

// post sends the request and returns the response of status 200.
func (a *attempt) post(ctx context.Context, body []byte) (*http.Response, error) {
	// A connection that is ready is the last thing known before bytes leave:
	// what fails earlier surely cost nothing.
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		if !a.sent.Swap(true) && a.call.Sent != nil {
			a.call.Sent()
		}
	}})
	client := a.provider.client(a.base)
	var response *http.Response
	err := client.Post(ctx, "chat/completions", body, &response, option.WithMiddleware(a.guard))
	return response, err
}

// guard bounds every response in bytes and time, and turns those that are no
// answers into errors.
func (a *attempt) guard(request *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	response, err := next(request)
	if err != nil {
		return response, err
	}
	body := &guarded{body: response.Body, quiet: a.quiet, idle: a.provider.config.IdleTimeout, left: maxBody}
	response.Body = body
	if response.StatusCode == http.StatusOK {
		a.body = body
		return response, nil
	}
	defer response.Body.Close()
	return nil, a.rejection(response)
}

// explain makes any failure of the attempt a typed error.
func (a *attempt) explain(ctx context.Context, err error) *domain.Error {
	if cause := context.Cause(ctx); errors.Is(cause, errQuiet) {
		err = cause
	}
	typed, ok := errors.AsType[*domain.Error](err)
	switch {
	case ok:
		return typed
	case errors.Is(err, errQuiet):
		typed = domain.CodedErrorf(domain.Unavailable, domain.CodeTimeout, "%s: %s sent nothing for too long", Name, a.base.Host)
	case errors.Is(err, errTooLong):
		typed = domain.Errorf(domain.TooLarge, "%s: the response has more than %d bytes", Name, maxBody)
	case a.body != nil:
		typed = domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "%s: the answer was cut off: %s", Name, a.cause(err))
	case a.sent.Load():
		typed = domain.Errorf(domain.Unavailable, "%s: the connection to %s broke before an answer came: %s", Name, a.base.Host, a.cause(err))
	default:
		typed = domain.Errorf(domain.Unavailable, "%s: cannot reach %s: %s; check the base URL", Name, a.base.Host, a.cause(err))
	}
	typed.Source, typed.Billed = Name, a.sent.Load()
	return typed
}

// cause is what went wrong without the URL, which may hold a secret.
func (a *attempt) cause(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return a.provider.redact(err.Error())
}

// read takes the answer from a response of status 200, whatever its form.
func (a *attempt) read(response *http.Response, emit func(inference.Delta)) (inference.Answer, error) {
	out := &assembly{attempt: a, emit: emit}
	stream := newEvents(response.Body)
	var err error
	switch first := stream.first(); first {
	case '{', '[':
		err = out.readWhole(stream.reader)
	case '<', 0:
		err = out.unreadable(stream.reader, response.Header.Get("Content-Type"))
	default:
		err = out.readStream(stream)
	}
	if err != nil {
		return out.partial(), err
	}
	return out.answer()
}

// malformed is the error of an answer that is none. Its beginning is kept for
// operators.
func (a *attempt) malformed(what string, body []byte) *domain.Error {
	err := domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "%s: %s", Name, what).From(Name)
	err.Billed = true
	err.Detail = a.provider.redact(string(bytes.ToValidUTF8(body[:min(len(body), 1<<10)], []byte("?"))))
	return err
}
