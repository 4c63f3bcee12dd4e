package wire

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"everstep/activities/inference"
	"everstep/domain"
)

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 64 << 10

// rejected is the error of a response that has another status than 200.
func (a *Attempt) rejected(response *http.Response) *domain.Error {
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		name := a.client.api.Name
		return domain.Errorf(domain.Invalid, "%s: %s answers with a redirect (HTTP %d), which is not followed; give the server's final base URL",
			name, a.base.Host, response.StatusCode).From(name)
	}
	// What was read before a failure still tells more than nothing.
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	if response.StatusCode < 300 {
		return a.malformed(fmt.Sprintf("the response has status %d and no answer", response.StatusCode), body)
	}
	r := ParseRejection(body)
	r.Status, r.Again = response.StatusCode, inference.AdviceOf(response.Header)
	if delay, asked := inference.RetryAfter(response.Header, time.Now()); asked {
		r.RetryAfter, r.Asked = delay, true
	}
	return a.refused(r, body)
}

// Inner is the error that came inside a response of status 200: its body, the
// event's data, or the value that says what went wrong.
func (a *Attempt) Inner(body []byte) error {
	r := ParseRejection(body)
	r.Begun = true
	return a.refused(r, body)
}

func (a *Attempt) refused(r inference.Rejection, body []byte) *domain.Error {
	if a.requestID == "" && isRequestID(r.RequestID) && a.Redact(r.RequestID) == r.RequestID {
		a.requestID = r.RequestID
	}
	r.Message, r.Code, r.Param = a.Redact(r.Message), a.Redact(r.Code), a.Redact(r.Param)
	r.Server = a.server()
	err := r.Error(a.call.Config)
	err.Detail = a.detail(body)
	return err
}

// server is the base URL without its query, in which some servers want a key.
func (a *Attempt) server() string {
	plain := *a.base
	plain.RawQuery = ""
	return a.Redact(plain.String())
}
