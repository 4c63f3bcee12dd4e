package wire

import (
	"net/http"
	"net/http/httptrace"
	"strings"

	"everstep/domain"
)

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
	a.requestID = a.client.requestID(response.Header)
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

// requestID finds the provider's id of a request. What is no id is left out.
func (c *Client) requestID(header http.Header) string {
	for _, name := range c.api.RequestIDs {
		if id := strings.TrimSpace(header.Get(name)); isRequestID(id) && c.secrets.redact(id) == id {
			return id
		}
	}
	return ""
}

func isRequestID(id string) bool {
	return id != "" && len(id) <= maxRequestID && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
}
