package openaichat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"everstep/activities/inference"
	"everstep/domain"
)

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 64 << 10

// rejection is the error of a response that has another status than 200.
func (a *attempt) rejection(response *http.Response) *domain.Error {
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		return domain.Errorf(domain.Invalid, "%s: %s answers with a redirect (HTTP %d), which is not followed; give the server's final base URL",
			Name, a.base.Host, response.StatusCode).From(Name)
	}
	// What was read before a failure still tells more than nothing.
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	r := parseError(body)
	r.Status = response.StatusCode
	if delay, asked := inference.RetryAfter(response.Header, time.Now()); asked {
		r.RetryAfter, r.Asked = delay, true
	}
	if response.StatusCode < 300 {
		return a.malformed(fmt.Sprintf("the response has status %d and no answer", response.StatusCode), body)
	}
	return a.finish(r, body)
}

// inner is the error that came inside a response of status 200.
func (a *attempt) inner(body []byte) *domain.Error {
	r := parseError(body)
	r.Begun = true
	return a.finish(r, body)
}

func (a *attempt) finish(r inference.Rejection, body []byte) *domain.Error {
	r.Message = a.provider.redact(r.Message)
	err := r.Error(a.call.Config)
	err.Detail = a.provider.redact(string(bytes.ToValidUTF8(body[:min(len(body), 1<<10)], []byte("?"))))
	return err
}

// errorBody holds the fields in which servers say what went wrong: nested in
// "error", or flat.
type errorBody struct {
	Message    text            `json:"message"`
	Detail     json.RawMessage `json:"detail"`
	Type       text            `json:"type"`
	Code       text            `json:"code"`
	Param      text            `json:"param"`
	Status     text            `json:"status"`
	StatusCode text            `json:"status_code"`
	Error      json.RawMessage `json:"error"`
	Inner      *errorBody      `json:"innererror"`
	Metadata   *struct {
		Raw text `json:"raw"`
	} `json:"metadata"`
	Details json.RawMessage `json:"details"`
}

// parseError reads an error's body in all the shapes that are found. What is
// not JSON is taken for the message, unless it is a page.
func parseError(body []byte) inference.Rejection {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer errorBody
	if err := json.Unmarshal(body, &outer); err != nil {
		return inference.Rejection{Message: plain(body)}
	}
	e := outer
	if present(outer.Error) {
		var nested errorBody
		if json.Unmarshal(outer.Error, &nested) == nil {
			e = nested
		} else {
			_ = e.Message.UnmarshalJSON(outer.Error)
		}
	}
	return e.rejection()
}

func (e errorBody) rejection() inference.Rejection {
	r := inference.Rejection{Message: string(e.Message), Type: string(e.Type + " " + e.Status), Code: string(e.Code), Param: string(e.Param)}
	if r.Message == "" {
		r.Message = detail(e.Detail)
	}
	for _, number := range []text{e.StatusCode, e.Code} {
		if status, err := strconv.Atoi(string(number)); err == nil && status >= 400 && status < 600 {
			r.Status = status
			break
		}
	}
	if e.Metadata != nil {
		r.Hint = string(e.Metadata.Raw)
	}
	if e.Inner != nil {
		r.Hint += " " + string(e.Inner.Code)
	}
	r.RetryAfter, r.Asked = retryInfo(e.Details)
	return r
}

// detail reads the field in which some frameworks put a text, or a list of
// what is wrong.
func detail(data json.RawMessage) string {
	var list []struct {
		Message text   `json:"msg"`
		Place   []text `json:"loc"`
	}
	if json.Unmarshal(data, &list) == nil && len(list) > 0 {
		place := make([]string, len(list[0].Place))
		for i, p := range list[0].Place {
			place[i] = string(p)
		}
		return strings.Join(place, ".") + ": " + string(list[0].Message)
	}
	var t text
	_ = t.UnmarshalJSON(data)
	return string(t)
}

// retryInfo finds the delay that Google's error details ask for.
func retryInfo(data json.RawMessage) (time.Duration, bool) {
	var details []struct {
		Delay string `json:"retryDelay"`
	}
	if json.Unmarshal(data, &details) != nil {
		return 0, false
	}
	for _, d := range details {
		if seconds, ok := strings.CutSuffix(d.Delay, "s"); ok {
			return inference.Delay(seconds, time.Second)
		}
	}
	return 0, false
}

// plain is a body that is not JSON, as far as it can be shown.
func plain(body []byte) string {
	if len(body) == 0 || body[0] == '<' || body[0] == '{' {
		return ""
	}
	return string(bytes.ToValidUTF8(body[:min(len(body), 500)], nil))
}
