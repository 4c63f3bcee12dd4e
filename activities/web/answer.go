package web

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"everstep/activities/tool"
	"everstep/domain"
)

// answer is a response as the model reads it: a line of where it is from, and the text. From
// status 400 on it is an error, which holds the same. Of what was posted the status says what became, even if the body is
// lost; but a server that fails may have done it before.
func (c *Client) answer(response *http.Response, raw bool, from int) (tool.Result, error) {
	text, notes, err := c.text(response, raw, from)
	posted := response.Request.Method == http.MethodPost
	switch {
	case err != nil && posted: // how it went has been said
		text, notes = "", []string{domain.AsError(err).Message}
	case err != nil:
		own := domain.AsError(err)
		own.Message = fmt.Sprintf("[%s %s: %d] %s", response.Request.Method, shown(response.Request.URL), response.StatusCode, own.Message)
		return tool.Result{}, own
	}
	u := response.Request.URL
	about := []string{strconv.Itoa(response.StatusCode) + " " + cmp.Or(http.StatusText(response.StatusCode), "of no known meaning")}
	if to, err := response.Location(); err == nil {
		about = append(about, "leads to "+shown(to))
	}
	first := response.Request
	for first.Response != nil { // the redirect that led to it
		first = first.Response.Request
	}
	redirected := ""
	if first != response.Request {
		redirected = ", redirected from " + shown(first.URL)
	}
	about = append(about, notes...)
	told := func(more ...string) string {
		head := fmt.Sprintf("[%s %s%s: %s]", response.Request.Method, shown(u), redirected, strings.Join(append(about, more...), "; "))
		return strings.TrimSuffix(head+"\n"+text, "\n")
	}
	whole := told() // without the time, so that the same answer is known again
	switch {
	case response.StatusCode < http.StatusBadRequest:
		return tool.Result{Content: told("fetched " + c.now().UTC().Format(time.RFC3339)), Compared: whole}, nil
	case posted && response.StatusCode >= http.StatusInternalServerError:
		return tool.Result{}, outcomeUnknown("the server failed, and may have done before what it was asked; the request was not repeated: %s", whole)
	}
	return tool.Result{}, refusal(response, whole)
}

// refusal is the error of a status. What may work later is tried again, where the tool may be.
func refusal(response *http.Response, text string) error {
	own := domain.Invalidf("%s", text)
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		own.Kind = domain.Denied
	case http.StatusTooManyRequests:
		own.Kind = domain.Throttled
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		own.Kind = domain.Unavailable
	}
	// Whoever asks for more is not waited for; the model hears of it.
	const patience = 60
	if wait, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && wait > 0 && own.Kind.Retryable() {
		if own.RetryAfter = time.Duration(wait) * time.Second; wait > patience {
			own.Kind, own.RetryAfter = domain.Denied, 0
		}
	}
	return own
}

// shown is a URL in a line of ours: url.URL has encoded what could break it.
func shown(u *url.URL) string { return domain.Shorten(u.Redacted(), 500) }

// text reads the body, as far as it may and is text, and says what it has done.
func (c *Client) text(response *http.Response, raw bool, from int) (text string, notes []string, err error) {
	body, err := c.body(response)
	if err != nil {
		return "", nil, err
	}
	start, err := body.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) && !isTooMuch(err) {
		return "", nil, cutOff(response, err)
	}
	kind, full := mediaType(response.Header.Get("Content-Type"), start)
	if !isText(kind) {
		size := "of unknown size"
		if response.ContentLength >= 0 {
			size = fmt.Sprintf("%d bytes", response.ContentLength)
		}
		return "", []string{kind, size, "no text, so not shown"}, nil
	}
	data, err := io.ReadAll(io.LimitReader(body, c.bounds.bytes+1))
	if err != nil && !isTooMuch(err) {
		return "", nil, cutOff(response, err)
	}
	cut := err != nil || int64(len(data)) > c.bounds.bytes
	data = data[:min(int64(len(data)), c.bounds.bytes)]
	notes = []string{kind, fmt.Sprintf("%d bytes", len(data))}
	if cut {
		notes[1] = fmt.Sprintf("only the first %d bytes are read", len(data))
	}
	text = decoded(data, full)
	if (kind == "text/html" || kind == "application/xhtml+xml") && !raw {
		if text, err = readable(response.Request.Context(), text, response.Request.URL, 2*int(c.bounds.bytes)); err != nil {
			return "", nil, cutOff(response, err)
		}
		notes = append(notes, "its readable text")
	}
	text, part, err := c.part(text, from)
	return text, append(notes, part...), err
}

// part is as much of a text as one call returns.
func (c *Client) part(text string, from int) (string, []string, error) {
	if from > 0 && from >= len(text) {
		return "", nil, domain.Invalidf("from: %d is past the end: the text has %d bytes", from, len(text))
	}
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	whole := len(text)
	text = domain.Shorten(text[from:], c.bounds.shown)
	switch end := from + len(text); {
	case end < whole:
		return text, []string{fmt.Sprintf("bytes %d to %d of %d of the text; read on with from %d", from, end, whole, end)}, nil
	case from > 0:
		return text, []string{fmt.Sprintf("bytes %d to %d, the end of the text", from, whole)}, nil
	}
	return text, nil, nil
}

// isTooMuch reports whether a body is longer than it may be before it is unpacked.
func isTooMuch(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}

// body is the body, unpacked. Packed and unpacked it is bounded alike.
func (c *Client) body(response *http.Response) (*bufio.Reader, error) {
	raw := http.MaxBytesReader(nil, response.Body, c.bounds.bytes)
	switch encoding := strings.ToLower(strings.TrimSpace(response.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		return bufio.NewReader(raw), nil
	case "gzip", "x-gzip":
		packed := bufio.NewReader(raw)
		if _, err := packed.Peek(1); errors.Is(err, io.EOF) {
			return packed, nil // an answer without a body
		}
		unpacked, err := gzip.NewReader(packed)
		if err != nil {
			return nil, cutOff(response, err)
		}
		return bufio.NewReader(unpacked), nil
	default:
		return nil, domain.Invalidf("its body is packed as %s, which was not asked for", shorten(encoding))
	}
}

// cutOff is for a body that did not come whole.
func cutOff(response *http.Response, err error) *domain.Error {
	own := explain(err, response.Request.URL.Hostname())
	if own.Code != domain.CodeTimeout {
		own.Message = "its body broke off or cannot be unpacked"
	}
	return own
}

var plainType = regexp.MustCompile(`^[a-z0-9.+_-]+/[a-z0-9.+_-]+$`)

// mediaType is what a body is, by what its server says or else by how it begins.
func mediaType(header string, start []byte) (kind, full string) {
	kind, _, err := mime.ParseMediaType(header)
	if (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter)) && plainType.MatchString(kind) && len(kind) <= 100 {
		return kind, header
	}
	full = http.DetectContentType(start)
	kind, _, _ = strings.Cut(full, ";")
	return kind, full
}

func isText(kind string) bool {
	const applications = "json xml javascript ecmascript yaml x-yaml toml x-ndjson ndjson jsonl x-www-form-urlencoded graphql sql x-sh"
	top, sub, _ := strings.Cut(kind, "/")
	if top == "application" && slices.Contains(strings.Fields(applications), sub) {
		return true
	}
	return top == "text" || strings.HasSuffix(sub, "+json") || strings.HasSuffix(sub, "+xml") || strings.HasSuffix(sub, "+yaml")
}

// decoded is a text in UTF-8, by what the server or the page itself says of its encoding.
func decoded(data []byte, contentType string) string {
	if utf8.Valid(data) {
		return string(bytes.TrimPrefix(data, []byte("\uFEFF")))
	}
	encoding, _, _ := charset.DetermineEncoding(data, contentType)
	if text, err := encoding.NewDecoder().Bytes(data); err == nil {
		data = text
	}
	return strings.ToValidUTF8(string(data), "\uFFFD")
}
