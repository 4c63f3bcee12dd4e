package mcp

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// dialPatience bounds the way to a server, headPatience what an idle connection lasts.
	dialPatience = 10 * time.Second
	idlePatience = 90 * time.Second
	// maxDelay bounds what a server may ask us to wait.
	maxDelay = time.Hour
)

// endpoint is the transport of a server over streamable HTTP. It opens no stream of
// its own for what a server says unasked: where such a stream ends too often the SDK
// takes the whole connection for lost, and calls under way with it. No proxy of the
// environment is used.
func endpoint(s Server, options Options) *sdk.StreamableClientTransport {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialPatience}).DialContext,
		TLSHandshakeTimeout: dialPatience, IdleConnTimeout: idlePatience, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
	}
	// Another address would get the headers, and the call.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	made := &sdk.StreamableClientTransport{
		Endpoint: s.URL, DisableStandaloneSSE: true, MaxEventSize: maxLine,
		HTTPClient: &http.Client{Transport: &requests{server: s, secret: options.Secret, next: transport}, CheckRedirect: stay},
	}
	if s.OAuth != nil {
		made.OAuthHandler = &authorizer{
			config: *s.OAuth, options: options,
			client: &http.Client{Transport: bounded{transport}, CheckRedirect: stay, Timeout: tokenPatience},
		}
	}
	return made
}

// bounded bounds what a server answers.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(request)
	if err == nil {
		response.Body = &boundedBody{ReadCloser: response.Body, left: maxLine}
	}
	return response, err
}

// requests adds a server's headers, bounds what it answers and notes how far a call got.
type requests struct {
	server Server
	secret func(string) (string, error)
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	call := sendingOf(request.Context())
	traced := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { call.note(func(s *sending) { s.begun = true }) },
	})
	request = request.Clone(traced)
	if err := nameOnWire(request); err != nil {
		return nil, err
	}
	for _, h := range r.server.Headers {
		if call == nil && len(h.trusted()) > 0 {
			continue // it is of no agent
		}
		text, err := h.with(r.secret, trustedOf(request.Context()))
		if err != nil {
			return nil, err
		}
		request.Header.Set(h.Name, text)
	}
	if request.Method != http.MethodPost {
		call = nil // it resumes the stream of one that was taken
	}
	call.note(func(s *sending) { s.status, s.wait = 0, 0 }) // of one that was refused for want of a token
	response, err := bounded{r.next}.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	call.note(func(s *sending) { s.status, s.wait = response.StatusCode, retryAfter(response.Header) })
	if response.StatusCode == http.StatusNotFound && request.Header.Get("Mcp-Session-Id") != "" {
		// Its session is gone, whatever it says of that: the SDK would take an error of the protocol for an answer.
		_ = response.Body.Close()
		response.Body = http.NoBody
	}
	return response, nil
}

func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxDelay)
}

// A boundedBody fails where it is longer than it may be.
type boundedBody struct {
	io.ReadCloser
	mu   sync.Mutex
	left int
}

var errLongBody = errors.New("it answers more than " + strconv.Itoa(maxLine) + " bytes")

// Read implements io.Reader.
func (b *boundedBody) Read(into []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left <= 0 {
		return 0, errLongBody
	}
	n, err := b.ReadCloser.Read(into[:min(len(into), b.left)])
	b.left -= n
	return n, err
}
