package web

import (
	"context"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/http/httpguts"

	"everstep/activities/tool"
	"everstep/domain"
)

type getArgs struct {
	URL     string            `json:"url" jsonschema:"what to fetch, with http:// or https://"`
	Headers map[string]string `json:"headers,omitzero" jsonschema:"request headers, such as Accept; few are allowed, and none for credentials"`
	Raw     bool              `json:"raw,omitzero" jsonschema:"true: HTML as it is and not as readable text"`
	From    int               `json:"from,omitzero" jsonschema:"where in a long text to begin, as an earlier answer has said; the URL is fetched anew"`
}

type postArgs struct {
	URL         string            `json:"url" jsonschema:"where to send it, with http:// or https://"`
	Body        string            `json:"body" jsonschema:"the body as it is sent"`
	ContentType string            `json:"content_type,omitzero" jsonschema:"the body's media type; left out: application/json"`
	Headers     map[string]string `json:"headers,omitzero" jsonschema:"request headers, such as Accept; few are allowed, and none for credentials"`
	Raw         bool              `json:"raw,omitzero" jsonschema:"true: HTML as it is and not as readable text"`
}

func (c *Client) get(ctx context.Context, args getArgs) (tool.Result, error) {
	if args.From < 0 {
		return tool.Result{}, domain.Invalidf("from: is below 0")
	}
	ctx, cancel := context.WithTimeout(ctx, c.bounds.whole)
	defer cancel()
	request, err := c.request(ctx, http.MethodGet, args.URL, args.Headers, nil)
	if err != nil {
		return tool.Result{}, err
	}
	response, err := c.fetch(request, true)
	if err != nil {
		return tool.Result{}, explain(err, request.URL.Hostname())
	}
	defer response.Body.Close()
	return c.answer(response, args.Raw, args.From)
}

func (c *Client) post(ctx context.Context, args postArgs) (tool.Result, error) {
	if len(args.Body) > c.bounds.sent {
		return tool.Result{}, domain.TooLargef("body: has %d bytes; at most %d are sent", len(args.Body), c.bounds.sent)
	}
	kind, parameters, err := mime.ParseMediaType(args.ContentType)
	switch {
	case args.ContentType == "":
		kind = "application/json"
	case err != nil || !strings.Contains(kind, "/"):
		return tool.Result{}, domain.Invalidf("content_type: %s is no media type, as in application/json", shorten(args.ContentType))
	}
	sent := false
	ctx, cancel := context.WithTimeout(ctx, c.bounds.whole)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = true }})
	request, err := c.request(ctx, http.MethodPost, args.URL, args.Headers, strings.NewReader(args.Body))
	if err != nil {
		return tool.Result{}, err
	}
	request.Header.Set("Content-Type", mime.FormatMediaType(kind, parameters))
	request.GetBody = nil // it is sent once
	response, err := c.fetch(request, false)
	if err != nil {
		own := explain(err, request.URL.Hostname())
		if !sent {
			return tool.Result{}, tool.NotStarted(own)
		}
		unknown := outcomeUnknown("the request was sent, and no answer came: %s; it may or may not have taken effect, and was not repeated", own.Message)
		unknown.Detail = own.Detail
		return tool.Result{}, unknown
	}
	defer response.Body.Close()
	return c.answer(response, args.Raw, 0)
}

// outcomeUnknown is for what was posted and may have taken effect.
func outcomeUnknown(format string, args ...any) *domain.Error {
	return domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown, "outcome unknown: "+format, args...)
}

// request makes a request of what a model gave, or says what is wrong with it.
func (c *Client) request(ctx context.Context, method, address string, headers map[string]string, body io.Reader) (*http.Request, error) {
	if len(address) > maxURL {
		return nil, domain.TooLargef("url: has %d bytes; at most %d are allowed", len(address), maxURL)
	}
	if strings.ContainsFunc(address, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\\' || r == unicode.ReplacementChar
	}) {
		return nil, domain.Invalidf("url: %s holds what may not stand in a URL; encode it", shorten(address))
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, domain.Invalidf("url: %s is no URL", shorten(address))
	}
	u.Fragment, u.RawFragment = "", ""
	if err := c.checkURL(u); err != nil { // first, since a request has no port where the URL has an empty one
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, domain.Errorf(domain.Invalid, "url: %s cannot be asked for", shorten(address))
	}
	// They say what is wanted, and on which condition. None says who asks.
	allowed := strings.Fields("Accept Accept-Language Idempotency-Key If-Match If-Modified-Since If-None-Match If-Unmodified-Since Prefer")
	for name, value := range headers {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if !slices.Contains(allowed, name) {
			return nil, domain.Deniedf("headers: %s may not be set; allowed are %s", shorten(name), strings.Join(allowed, ", "))
		}
		if len(value) > maxHeaderValue || !httpguts.ValidHeaderFieldValue(value) {
			return nil, domain.Invalidf("headers: the value of %s is too long or holds what may not stand there", name)
		}
		request.Header.Set(name, value)
	}
	request.Header.Set("User-Agent", "everstep")
	request.Header.Set("Accept-Encoding", "gzip")
	return request, nil
}

const (
	maxURL         = 8 << 10
	maxHeaderValue = 1000
)

// checkURL refuses a URL for what can be seen of it; where its host is, is judged when
// it is dialled. Its errors never repeat a user and a password.
func (c *Client) checkURL(u *url.URL) error {
	host, text := u.Hostname(), u.Port()
	if text == "" {
		text = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	port, err := strconv.ParseUint(text, 10, 16)
	switch {
	case u.User != nil:
		return domain.Deniedf("url: holds a user or a password, which are not sent; leave them out")
	case u.Scheme != "http" && u.Scheme != "https", u.Opaque != "":
		return domain.Deniedf("url: %s does not begin with http:// or https://", shorten(u.String()))
	case host == "":
		return domain.Invalidf("url: %s names no host", shorten(u.String()))
	case err != nil, port == 0, strings.HasSuffix(u.Host, ":"):
		return domain.Invalidf("url: the port of %s is none from 1 to 65535", shorten(u.Host))
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(host, "."))
	switch {
	case err != nil && endsInNumber(host):
		return domain.Deniedf("url: %s is an address in a spelling that is not taken; write it as four numbers", shorten(host))
	case err == nil:
		if err := c.network.check(host, netip.AddrPortFrom(addr, uint16(port))); err != nil {
			return err
		}
	}
	// Servers of other protocols may take a request for something else. A name is no address, and in no prefix.
	allow := c.network.allow
	if port == 80 || port == 443 || port >= 1024 || allow.names(host, uint16(port)) || allow.holds(addr.Unmap(), uint16(port)) {
		return nil
	}
	return domain.Deniedf("url: port %d is that of another protocol; 80, 443 and those from 1024 are allowed", port)
}
