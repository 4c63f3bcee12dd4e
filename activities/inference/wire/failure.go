package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"everstep/activities/inference"
	"everstep/domain"
)

// explain makes any failure of the attempt a *domain.Error, unless it is one.
func (a *Attempt) explain(err error) error {
	if cause := context.Cause(a.ctx); errors.Is(cause, errQuiet) {
		err = cause
	}
	if _, ok := errors.AsType[*domain.Error](err); ok {
		return err
	}
	long, isLong := errors.AsType[*tooLong](err)
	host, cause := a.Base.Host, a.Redact(err.Error())
	switch {
	case errors.Is(err, errQuiet) && !a.sent.Load():
		return a.Fail(domain.Unavailable, domain.CodeTimeout, nil, "cannot reach %s: no connection in %s; check the base URL", host, a.timeouts.Connect)
	case errors.Is(err, errQuiet):
		return a.Fail(domain.Unavailable, domain.CodeTimeout, nil, "%s sent nothing of an answer for too long", host)
	case isLong:
		return a.Fail(domain.TooLarge, "", nil, "%s", long)
	case a.body != nil: // of an answer, as a refusal is an error of its own
		return a.Fail(domain.Unavailable, "", nil, "the answer was cut off: %s", cause)
	case a.sent.Load():
		return a.Fail(domain.Unavailable, "", nil, "the connection to %s broke before an answer came: %s", host, cause)
	}
	return a.Fail(domain.Unavailable, "", nil, "cannot reach %s: %s; check the base URL", host, cause)
}

// Fail is an error of the attempt, billed where the request has left.
func (a *Attempt) Fail(kind domain.Kind, code domain.Code, body []byte, format string, args ...any) *domain.Error {
	name := a.client.api.Name
	err := domain.CodedErrorf(kind, code, "%s: %s", name, fmt.Sprintf(format, args...)).From(name)
	err.Billed, err.Detail = a.sent.Load(), a.detail(body)
	return err
}

// Malformed is the error of an answer that is none, with what came in its place.
func (a *Attempt) Malformed(what string, body []byte) *domain.Error {
	return a.Fail(domain.Unavailable, domain.CodeMalformed, body, "%s", what)
}

// Unknown says that an answer holds content of a type that is not understood.
func Unknown(kind Text) string {
	return "holds content of type " + domain.Shorten(string(kind), 40) + ", which is not understood"
}

// Redact takes the key, also one used of late, out of a text that comes from elsewhere.
func (a *Attempt) Redact(text string) string {
	s := &a.client.secrets
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.hiding.Hide(text)
}

const (
	// maxDetail bounds what operators get to see of a body.
	maxDetail = 1 << 10
	// maxExcerpt is how much of a body is looked at for that: a key at its border is seen whole.
	maxExcerpt = maxDetail + maxKeyFile
)

// detail is what operators see: the provider's id of the request and the beginning of the body.
func (a *Attempt) detail(body []byte) string {
	text := a.Redact(strings.ToValidUTF8(string(body[:min(len(body), maxExcerpt)]), "?"))
	text = domain.Shorten(text, maxDetail)
	if a.RequestID == "" {
		return text
	}
	return strings.TrimSuffix("request "+a.RequestID+": "+text, ": ")
}

// maxErrorBody bounds the body of an error, which may repeat all of a request.
const maxErrorBody = 1 << 20

// rejected is the error of a response whose status says that there is no answer, to a request with a body.
func (a *Attempt) rejected(response *http.Response, sent []byte) error {
	status := response.StatusCode
	if status < 400 {
		err := a.Fail(domain.Invalid, "", nil, "%s answers with a redirect (HTTP %d), which is not followed; give the server's final base URL",
			a.Base.Host, status)
		err.Billed = false
		return err
	}
	// What was read before a failure still tells more than nothing.
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	r := ParseRejection(body)
	if r.Message+r.Code == "" && json.Valid(body) && Present(body) {
		r.Message = words(string(body)) // it has a form that is not known
	}
	r.Status, r.ShouldRetry = status, response.Header.Get("X-Should-Retry")
	if delay, asked := inference.RetryAfter(response.Header, time.Now()); asked {
		r.RetryAfter, r.Asked = delay, true
	} else if !r.Asked && r.Status == http.StatusTooManyRequests {
		r.RetryAfter = max(r.RetryAfter, inference.LimitReset(response.Header, time.Now()))
	}
	return a.learned(a.refused(r, body), sent, body)
}

// Inner is the error that came inside a response of status 200, in its body or an event.
func (a *Attempt) Inner(body []byte) *domain.Error {
	r := ParseRejection(body)
	r.Begun = true
	return a.refused(r, body)
}

func (a *Attempt) refused(r inference.Rejection, body []byte) *domain.Error {
	a.identifyRequest(r.RequestID)
	r.Message, r.Code, r.Param = a.Redact(r.Message), a.Redact(r.Code), a.Redact(r.Param)
	server := *a.Base
	server.RawQuery = "" // some servers want a key there
	r.Server = a.Redact(server.String())
	a.Flush()
	a.Emit = nil // a call that cannot be read is recorded, and shown to nobody
	a.Text(0, domain.Shorten(a.Redact(r.Written), 8<<10))
	err := r.Error(a.call.Config)
	err.Detail = a.detail(body)
	return err
}

// ParseRejection reads an error's body in all the shapes that are found. What
// is not JSON is taken for the message, unless it is a page. The status is what
// the body names, if it does. The words are as they came: keys and all.
func ParseRejection(body []byte) inference.Rejection {
	body = statement(body)
	var text string
	switch {
	case !json.Valid(body):
		if bytes.HasPrefix(body, []byte("<")) || bytes.HasPrefix(body, []byte("{")) && !bytes.HasPrefix(body, []byte("{'")) {
			body = nil // a page, or JSON that was cut
		}
		return inference.Rejection{Message: words(string(bytes.ToValidUTF8(body, nil)))}
	case json.Unmarshal(body, &text) == nil && text != "":
		return ParseRejection([]byte(text))
	}
	said, around, all := http.Header{}, http.Header{}, http.Header{}
	leaves(innermost(body, maxNested, around), "", 1, said)
	leaves(body, "", maxNested, all)
	if place := said["Loc"]; len(place) > 0 {
		said.Set("msg", strings.Join(place, ".")+": "+said.Get("msg"))
	}
	hints := slices.Concat(all["Raw"], all["Code"], all["Reason"], all["Quotaid"], all["Error"], all["Message"], []string{"n_ctx " + all.Get("n_ctx")})
	for i, hint := range hints { // one that repeats a request without an end hides no other
		hints[i] = words(hint)
	}
	r := inference.Rejection{
		Message: words(first(said, messages), first(all, "status_msg message faultstring")),
		Type:    words(said.Get("type") + " " + said.Get("status")), Code: words(first(said, codes)), Param: words(said.Get("param")),
		RequestID: all.Get("request_id"), Written: all.Get("failed_generation"),
		Hint: ends(strings.Join(hints, "\n")),
	}
	for _, number := range append([]string{said.Get("status_code"), r.Code}, around["Code"]...) {
		if status, err := strconv.Atoi(number); err == nil && status >= 400 && status < 600 {
			r.Status = status
			break
		}
	}
	if r.RetryAfter, r.Asked = inference.RetryAfter(all, time.Now()); !r.Asked {
		if r.RetryAfter, r.Asked = inference.WaitIn(r.Message+" "+r.Hint, time.Now()); !r.Asked {
			r.RetryAfter = inference.LimitReset(all, time.Now())
		}
	}
	return r
}

// statement is what of a body says what went wrong: the first object in it, be it an event's, else all of it.
func statement(body []byte) []byte {
	body = bytes.TrimSpace(body)
	object := func(data []byte) bool {
		return bytes.HasPrefix(data, []byte("{")) || bytes.HasPrefix(data, []byte("[{"))
	}
	if e, err := NewStream(bytes.NewReader(body)).Next(); err == nil && object(e.Data) && !json.Valid(body) {
		body = e.Data
	}
	var one json.RawMessage
	if object(body) && json.NewDecoder(bytes.NewReader(body)).Decode(&one) == nil {
		return one
	}
	return body
}

// first is the first of some fields that says anything.
func first(found http.Header, names string) string {
	for name := range strings.FieldsSeq(names) {
		if text := found.Get(name); text != "" {
			return text
		}
	}
	return ""
}

// The names by which errors have their words and their code.
const (
	messages = "message error msg error_msg detail errmsg errormessage error_message error_description title description reason"
	codes    = "code error_code errorcode __type"
)

// maxNested is how deep an error's body is looked into.
const maxNested = 6

// innermost is the object that says what went wrong, which may stand in another, in a list or in a text; nil where there is
// none. What it stands in is taken, as leaves does.
func innermost(data []byte, depth int, around http.Header) []byte {
	if list := ListOf(data); len(list) > 0 {
		data = list[0]
	}
	if depth == 0 || len(data) == 0 || data[0] != '{' || !json.Valid(data) {
		return nil
	}
	leaves(data, "", 1, around)
	outer := map[string]json.RawMessage{}
	members(data, func(quoted, value []byte) { outer[strings.ToLower(string(bytes.Trim(quoted, `"`)))] = value })
	own := http.Header{}
	leaves(data, "", 1, own)
	for path := range strings.FieldsSeq("error metadata.raw raw errors detail data response") {
		says := messages + " status_code status_msg faultstring " + codes
		switch path {
		case "data", "response": // of an answer too
			if first(own, says) != "" {
				return data
			}
		default:
			says += " type status"
		}
		inner := field(outer, path)
		if (path == "errors" || path == "detail") && Present(outer["message"]) {
			break
		}
		var text string
		if json.Unmarshal(inner, &text) == nil {
			inner = []byte(text)
		}
		said, found := http.Header{}, innermost(inner, depth-1, around)
		if leaves(found, "", 1, said); first(said, says) != "" {
			return found
		}
	}
	return data
}

// The fields of an error's body that repeat the request, where they are no text, and those that may hold JSON in a text.
var (
	asked   = Names("messages input prompt contents")
	holding = Names("error errors message detail raw")
)

// repeated reports whether a value repeats the request, or what the model wrote: a body may also be that of an error that is passed on.
func repeated(name string, value []byte) bool {
	is := asked[name] || name == "content" || name == "failed_generation"
	if name == "body" || name == "request" {
		members(value, func(quoted, _ []byte) { is = is || asked[strings.Trim(string(quoted), `"`)] })
	}
	return is
}

// leaves takes the texts and numbers of some JSON, and of JSON in its texts, by their names, as a header has them: some are
// of one that is passed on.
func leaves(data []byte, of string, depth int, found http.Header) {
	members(data, func(quoted, value []byte) {
		name := strings.ToLower(cmp.Or(string(bytes.Trim(quoted, `"`)), of))
		var text Text
		_ = text.UnmarshalJSON(value) // it is valid
		inner := bytes.TrimSpace([]byte(text))
		isList, isObject := bytes.HasPrefix(inner, []byte("[")), bytes.HasPrefix(inner, []byte("{"))
		nested := value[0] != '"' || depth > 1 && holding[name] && json.Valid(inner)
		switch {
		case value[0] != '"' && repeated(name, value):
		case nested && (isList && depth > 0 || isObject && depth > 1):
			leaves(inner, name, depth-1, found)
		case value[0] != '[' && value[0] != '{':
			found.Add(name, string(text))
		}
	})
}

// maxWords bounds what is looked at of the beginning and of the end of a provider's words.
const maxWords = 8 << 10

// requoted finds where a text, in JSON or in Python's form of it, begins to repeat the request: the value begins with the
// last byte of a group, and a text without an object is none of the request's messages. What pydantic repeats stands between two of its own
// words, and other values go up to the end of their line.
var (
	requoted  = regexp.MustCompile(`,? ?['"]?\b(?:((?:input|inputs|prompt)['"]: ?[\w.]*[\[{('"]|role['"]: ?['"]\w+['"], ?['"]content['"]: ?[\[{('"]|(?:messages|contents)['"]: ?\{)|(?:messages|contents)['"]: ?(?:([\[(])\s*[^\s'"]|(['"])[\[(]?\s*\{))`)
	validated = regexp.MustCompile(`, ?input_value=(?:.*, input_type=\w+|.*)|, ?['"]?input['"]: ?(?:\w+=|[A-Za-z]\w* |[^\s\w\[{('"-]).*`)
)

// words are the first of some texts that says anything, without what it repeats of the request.
func words(texts ...string) string {
	text := cmp.Or(texts...)
	if len(text) > maxErrorBody { // as an event may be
		text = text[:max(strings.LastIndexAny(text[:maxErrorBody], " \n"), 0)]
	}
	text = validated.ReplaceAllString(text, "")
	var own strings.Builder
	for at := requoted.FindStringSubmatchIndex(text); at != nil; at = requoted.FindStringSubmatchIndex(text) {
		own.WriteString(text[:at[0]])
		text = text[max(at[3], at[5], at[7])-1:]
		text = text[quotation(text):]
	}
	return ends(own.String() + text)
}

// ends are the beginning and the end of a text that is longer than may be. No part of a word is left where it is cut, which
// might be one of a key.
func ends(text string) string {
	if len(text) <= 2*maxWords {
		return text
	}
	head, tail := text[:maxWords], text[len(text)-maxWords:]
	return head[:max(strings.LastIndexAny(head, " \n"), 0)] + "\n" + tail[strings.IndexAny(tail+"\n", " \n"):]
}

// quotation is how many bytes the value has with which a text begins, which is all of it where the value has no end.
func quotation(text string) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '\\':
			i++
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"', b == '\'':
			quote = b
		case strings.IndexByte("{[(", b) >= 0:
			depth++
		case strings.IndexByte("}])", b) >= 0:
			depth--
		}
		if quote == 0 && depth <= 0 {
			return i + 1
		}
	}
	return len(text)
}
