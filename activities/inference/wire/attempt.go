package wire

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"everstep/activities/inference"
	"everstep/domain"
)

// An Attempt is one request and what is known of it, and the draft of its answer.
// It belongs to one goroutine.
type Attempt struct {
	// Draft is the answer as it comes.
	Draft
	// Base is the base URL. It must not be changed. Official says that it is one of
	// the vendor's own servers.
	Base     *url.URL
	Official bool
	// Key is the key of this attempt, empty for none. It is hidden in all errors
	// that the attempt makes.
	Key string
	// Bound is the most tokens that the answer may have: the least that the call,
	// the definition or the options say. Zero is no bound.
	Bound int64
	// FinishOptional is Config's.
	FinishOptional bool

	client *Client
	call   inference.Call
	ctx    context.Context
	quiet  *quiet
	// timeouts are the agent's, else the client's.
	timeouts Timeouts
	// begun says that a request was made, failed what became of it.
	begun  bool
	failed error
	// sent says that a byte of the request may have left.
	sent atomic.Bool
	// body is the response's, where its status is 200.
	body *guarded
}

// A Request is what an attempt asks: JSON, sent by POST.
type Request struct {
	// Path is that below the base URL, escaped.
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
	// Send sends the request in place of the attempt, for adapters whose SDK is to
	// do that: with Attempt.HTTPClient, no retries and no environment.
	Send func() (*http.Response, error)
}

// Infer makes one attempt: see inference.Provider.
func (c *Client) Infer(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
	a, err := c.begin(ctx, call, emit)
	if err != nil {
		return inference.Answer{}, c.own(err)
	}
	defer a.end()
	request, decoder, err := c.api.Prepare(a, call)
	if err != nil {
		return inference.Answer{}, c.own(err)
	}
	response, err := a.send(request)
	if err != nil {
		return inference.Answer{Partial: true}, a.explain(err)
	}
	defer response.Body.Close()
	if err := a.read(response, decoder); err != nil {
		return a.Partial(), err
	}
	if err := a.overflow(decoder.Finish()); err != nil {
		return a.Partial(), err
	}
	return decoder.Answer(), nil
}

// begin finds the base URL and asks for the key, and sends nothing. The time-outs
// begin with the request.
func (c *Client) begin(ctx context.Context, call inference.Call, emit func(inference.Delta)) (*Attempt, error) {
	bound, err := c.checkOptions(call.Config.Options)
	if err != nil {
		return nil, err
	}
	base, err := c.baseURL(call.Config)
	if err != nil {
		return nil, err
	}
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	for i, m := range call.Messages {
		if m.Role == domain.RoleTool && m.ToolResult == nil {
			return nil, domain.Errorf(domain.Internal, "message %d: is of a tool and has no result", i)
		}
	}
	for _, b := range []int64{call.MaxOutputTokens, call.Config.MaxOutputTokens} {
		if b > 0 && (bound == 0 || b < bound) {
			bound = b
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	return &Attempt{
		Draft: Draft{Emit: emit}, Base: base, Official: c.api.official(base), Key: key, Bound: bound, FinishOptional: c.config.FinishOptional,
		client: c, call: call, timeouts: Timeouts(call.Config.Timeouts).or(c.config.Timeouts), ctx: ctx, quiet: &quiet{cancel: cancel},
	}, nil
}

// end closes the connection if an answer is still coming.
func (a *Attempt) end() {
	a.quiet.stop()
	a.quiet.cancel(nil)
}

// Context ends with the attempt: when it is cancelled, quiet for too long, or
// at its end.
func (a *Attempt) Context() context.Context { return a.ctx }

// HTTPClient is for an SDK to send the one request with. Whatever is no answer
// comes out of it as an error; nothing is sent a second time.
func (a *Attempt) HTTPClient() *http.Client { return &http.Client{Transport: exchange{a}} }

// Bearer is a header with the key, where there is one.
func (a *Attempt) Bearer() http.Header { return a.KeyIn("Authorization", "Bearer ") }

// KeyIn is a header with the key in a field, behind a word, where there is one.
func (a *Attempt) KeyIn(field, word string) http.Header {
	header := http.Header{}
	if a.Key != "" {
		header.Set(field, word+a.Key)
	}
	return header
}

// Accept is the value of the Accept header: a stream, or an answer in one piece.
const Accept = "text/event-stream, application/json"

// send makes the one request. A response has status 200.
func (a *Attempt) send(r Request) (*http.Response, error) {
	if r.Send != nil {
		return r.Send()
	}
	if segments := strings.Split(r.Path, "/"); slices.Contains(segments, "..") || slices.Contains(segments, ".") {
		return nil, domain.Errorf(domain.Invalid, "model: holds . or .. as a part of its path; check the model's name").From(a.client.api.Name)
	}
	target := a.Base.JoinPath(r.Path)
	values := target.Query()
	for key, more := range r.Query {
		values[key] = append(values[key], more...)
	}
	target.RawQuery = values.Encode()
	request, err := http.NewRequestWithContext(a.ctx, http.MethodPost, target.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{"Accept": {Accept}, "Content-Type": {"application/json"}}
	for key, values := range r.Header {
		request.Header[http.CanonicalHeaderKey(key)] = values
	}
	return a.HTTPClient().Do(request)
}

// exchange sends an attempt's request. It is the transport of an HTTP client,
// so that an SDK may be the one that sends.
type exchange struct{ attempt *Attempt }

// RoundTrip bounds the response in bytes and time, and turns one that is no
// answer into an error.
func (e exchange) RoundTrip(request *http.Request) (*http.Response, error) {
	a := e.attempt
	if a.begun {
		return nil, a.second(request)
	}
	a.begun = true
	// The attempt's own context, whatever an SDK made of it. A connection that
	// is ready is the last thing known before bytes leave: what fails earlier
	// surely cost nothing.
	ctx := httptrace.WithClientTrace(a.ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { a.leaves() }})
	a.quiet.heard(a.timeouts.Connect)
	response, err := a.client.transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		a.failed = err
		return nil, err
	}
	a.RequestID = a.client.requestID(response.Header)
	body := &guarded{body: response.Body, quiet: a.quiet, idle: a.timeouts.Idle, most: a.client.config.MaxBody, left: a.client.config.MaxBody}
	response.Body = body
	if response.StatusCode == http.StatusOK {
		a.body = body
		return response, nil
	}
	defer response.Body.Close()
	a.failed = a.rejected(response)
	return nil, a.failed
}

// leaves notes that the request is about to leave.
func (a *Attempt) leaves() {
	if a.sent.Swap(true) {
		return
	}
	a.quiet.heard(a.timeouts.FirstByte)
	if a.call.Sent != nil {
		a.call.Sent()
	}
}

// second refuses to send a request again: that would be billed again.
func (a *Attempt) second(request *http.Request) error {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	if a.failed != nil {
		return a.failed
	}
	err := domain.Errorf(domain.Internal, "%s: a second request was about to be made in one attempt", a.client.api.Name).From(a.client.api.Name)
	err.Billed = a.sent.Load()
	return err
}

// maxRequestID bounds a request's id.
const maxRequestID = 128

// requestID finds the provider's id of a request.
func (c *Client) requestID(header http.Header) string {
	for _, name := range c.api.RequestIDs {
		if id := strings.TrimSpace(header.Get(name)); c.isRequestID(id) {
			return id
		}
	}
	return ""
}

// isRequestID leaves out what is no id, or holds a key.
func (c *Client) isRequestID(id string) bool {
	return id != "" && len(id) <= maxRequestID && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) && c.secrets.redact(id) == id
}
