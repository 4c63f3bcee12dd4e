package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"everstep/domain"
)

const (
	// dialPatience bounds the way to a server.
	dialPatience  = 10 * time.Second
	versionHeader = "Mcp-Protocol-Version"
)

// endpoint is the transport of a server over streamable HTTP. It opens no stream of
// its own for what a server says unasked: where such a stream ends too often the SDK
// takes the whole connection for lost, and calls under way with it. No proxy of the
// environment is used.
func endpoint(s Server, options Options, version *atomic.Value) *sdk.StreamableClientTransport {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialPatience}).DialContext,
		TLSHandshakeTimeout: dialPatience, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
	}
	// Another address would get the headers, and the call.
	address, query, _ := strings.Cut(s.URL, "?")
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	made := &sdk.StreamableClientTransport{
		Endpoint: address, DisableStandaloneSSE: true,
		MaxEventSize: -1, // bodies are bounded
		HTTPClient:   &http.Client{Transport: &requests{server: s, query: query, secret: options.Secret, version: version, next: transport}, CheckRedirect: stay},
	}
	if s.OAuth != nil {
		made.OAuthHandler = &authorizer{
			config: *s.OAuth, options: options,
			client: &http.Client{Transport: authorizing{bounded{transport}}, CheckRedirect: stay, Timeout: 30 * time.Second},
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
		read := new(atomic.Int64)
		if call := sendingOf(request.Context()); call != nil {
			read = &call.read // of all streams by which it is resumed
		}
		response.Body = &boundedBody{ReadCloser: response.Body, read: read}
	}
	return response, err
}

// requests adds a server's headers and query, bounds what it answers and notes how far a call got. The query may hold a
// secret, and errors show the URL to which it is added here.
type requests struct {
	server  Server
	query   string
	secret  func(string) (string, error)
	version *atomic.Value
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	call := sendingOf(request.Context())
	traced := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { call.note(func(s *sending) { s.begun = true }) },
	})
	request = request.Clone(traced)
	request.URL.RawQuery = r.query
	var id jsonrpc.ID // none: it is of no call
	if asks, ok := request.Context().Value(requestKey{}).(*jsonrpc.Request); ok {
		id = asks.ID
		if strings.HasPrefix(request.Header.Get("Mcp-Method"), "tasks/") { // which the SDK does not know
			var about ownParams
			_ = json.Unmarshal(asks.Params, &about) // they are ours
			request.Header.Set("Mcp-Name", about.TaskID)
		}
	}
	if said, ok := r.version.Load().(string); ok && request.Header.Get(versionHeader) == "" {
		request.Header.Set(versionHeader, said)
	}
	for _, h := range r.server.Headers {
		if (call == nil || !call.ofCall) && len(h.trusted()) > 0 {
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
	said, inSession := hint(response), request.Header.Get("Mcp-Session-Id") != ""
	if response.StatusCode == http.StatusBadRequest && request.Method == http.MethodPost && inSession && sessionGone.MatchString(said) {
		response.StatusCode = http.StatusNotFound // as the protocol has it
	}
	bare := response.StatusCode == http.StatusNotFound && inSession
	switch response.StatusCode {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotFound, http.StatusNotImplemented:
		if request.Method == http.MethodPost && !id.IsValid() && !bare { // some refuse all notices
			response.StatusCode, bare = http.StatusAccepted, true
		}
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // zero: it says none
	wait := time.Duration(min(max(seconds, 0), 3600)) * time.Second
	call.note(func(s *sending) { s.status, s.wait, s.hint = response.StatusCode, wait, said })
	if bare { // its session is gone, whatever it says of that: the SDK would take an error of the protocol for an answer
		_ = response.Body.Close()
		response.Body = http.NoBody
	}
	if response.StatusCode < 200 || response.StatusCode >= 300 {
		return response, nil
	}
	return readable(response, id)
}

// sessionGone is how servers say that they do not know a session, or nothing of it, as after their restart.
var sessionGone = regexp.MustCompile(`(?i)(?:no valid|invalid|unknown|expired|no such|not found:?) session|session ?(?:id)?.{0,50}(?:not found|invalid|expired|unknown|not exist)|server (?:is )?not initialized`)

// readable is a response of which the SDK can decode what is in it, also a body in one piece as a stream of events. Its error is
// that of this request alone, where the SDK's would end the connection.
func readable(response *http.Response, id jsonrpc.ID) (*http.Response, error) {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case kind == "text/event-stream":
		response.Body, response.ContentLength = newEventBody(response.Body, id), -1
		return response, nil
	case !id.IsValid():
		return response, nil
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	answer := &eventBody{Closer: response.Body, id: id, failed: io.EOF}
	switch {
	case errors.Is(err, errLongBody) && headed(data) == id:
		answer.giveUp(data)
	case err != nil:
		return nil, err
	case len(data) == 0:
		return nil, fmt.Errorf("it answers %s without a body", response.Status)
	case answer.message(data, ""):
	case beginsEvent.Match(data): // whatever its type says
		answer = newEventBody(io.NopCloser(bytes.NewReader(data)), id)
	case kind != "application/json":
		return nil, fmt.Errorf("unsupported content type %q", kind)
	default:
		return nil, errors.New("its answer is no message of the protocol, or answers something else")
	}
	response.Header.Set("Content-Type", "text/event-stream")
	response.Body, response.ContentLength = answer, -1
	return response, nil
}

// beginsEvent finds the first data of a stream of events.
var beginsEvent = regexp.MustCompile(`^\s*((event|id|retry)?:.*\s+)*data:`)

// hint is what a refusal says of what would be right: where else to ask, who lets in, or the server's own words. It may be empty.
func hint(response *http.Response) string {
	to, err := response.Location()
	switch status := response.StatusCode; {
	case status/100 == 3 && err == nil:
		return ": it is at " + domain.Shorten(quoted((&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String()), maxUnread)
	case status == http.StatusUnauthorized && strings.Contains(response.Header.Get("WWW-Authenticate"), "resource_metadata"):
		return ": it wants a token of OAuth"
	case status < 400:
		return ""
	}
	var head []byte
	body := response.Body
	if status := response.StatusCode; status != http.StatusTooManyRequests && status <= http.StatusNotImplemented { // the others say all
		late := time.AfterFunc(time.Second, func() { _ = body.Close() })
		head, _ = io.ReadAll(io.LimitReader(body, maxAsk)) // what came until then
		late.Stop()
	}
	_ = body.Close()
	response.Body = io.NopCloser(bytes.NewReader(head)) // it may not end
	all, _ := understood(head, false)
	for _, one := range all {
		if answer, ok := one.(*jsonrpc.Response); ok && answer.Error != nil {
			return ": " + domain.Shorten(quoted(answer.Error.Error()), maxUnread)
		}
	}
	return ""
}

// A boundedBody fails where more is read of it, and of what shares its budget, than may be.
type boundedBody struct {
	io.ReadCloser
	// read is how many bytes were read.
	read *atomic.Int64
}

var errLongBody = errors.New("it answers more than " + strconv.Itoa(maxLine) + " bytes")

// Read implements io.Reader.
func (b *boundedBody) Read(into []byte) (int, error) {
	left := min(len(into), maxLine-int(b.read.Load()))
	if left <= 0 && len(into) > 0 {
		return 0, errLongBody
	}
	n, err := b.ReadCloser.Read(into[:max(left, 0)])
	b.read.Add(int64(n))
	return n, err
}
