package wire

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"everstep/activities/inference"
	"everstep/domain"
)

// An Attempt is one request and what is known of it. It belongs to one
// goroutine.
type Attempt struct {
	client *Client
	call   inference.Call
	base   *url.URL
	key    string
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
	body      *guarded
	requestID string
}

// Begin starts an attempt: it finds the base URL and asks for the key, and
// sends nothing. Its time-outs begin with the request. End must be called.
func (c *Client) Begin(ctx context.Context, call inference.Call) (*Attempt, error) {
	base, err := c.BaseURL(call.Config)
	if err != nil {
		return nil, err
	}
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	return &Attempt{
		client: c, call: call, base: base, key: key, timeouts: c.config.Timeouts.with(call.Config.Timeouts),
		ctx: ctx, quiet: &quiet{cancel: cancel},
	}, nil
}

// End closes the connection if an answer is still coming. It may be called
// more than once.
func (a *Attempt) End() {
	a.quiet.stop()
	a.quiet.cancel(nil)
}

// Context ends with the attempt: when it is cancelled, quiet for too long, or
// at its end.
func (a *Attempt) Context() context.Context { return a.ctx }

// Base is the base URL. It must not be changed.
func (a *Attempt) Base() *url.URL { return a.base }

// Key is the key of this attempt, empty for none. It is hidden in all errors
// that the attempt makes.
func (a *Attempt) Key() string { return a.key }

// RequestID is the provider's own id of the request, as far as it has told one.
func (a *Attempt) RequestID() string { return a.requestID }

// HTTPClient is for an SDK to send the one request with. Whatever is no answer
// comes out of it as an error; nothing is sent a second time.
func (a *Attempt) HTTPClient() *http.Client { return &http.Client{Transport: exchange{a}} }

// Post sends the one request, for adapters that need no SDK for that: JSON, to
// a path below the base URL. The path must be escaped. A response has status
// 200 and goes to Read; an error is a *domain.Error.
func (a *Attempt) Post(path string, query url.Values, header http.Header, body []byte) (*http.Response, error) {
	if segments := strings.Split(path, "/"); slices.Contains(segments, "..") || slices.Contains(segments, ".") {
		return nil, domain.Errorf(domain.Invalid, "model: holds . or .. as a part of its path; check the model's name").From(a.client.api.Name)
	}
	target := a.base.JoinPath(path)
	values := target.Query()
	for key, more := range query {
		values[key] = append(values[key], more...)
	}
	target.RawQuery = values.Encode()
	request, err := http.NewRequestWithContext(a.ctx, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, a.Explain(err)
	}
	request.Header = http.Header{"Accept": {Accept}, "Content-Type": {"application/json"}}
	for key, values := range header {
		request.Header[http.CanonicalHeaderKey(key)] = values
	}
	response, err := a.HTTPClient().Do(request)
	if err != nil {
		return nil, a.Explain(err)
	}
	return response, nil
}

// Accept is the value of the Accept header: a stream, or an answer in one piece.
const Accept = "text/event-stream, application/json"
