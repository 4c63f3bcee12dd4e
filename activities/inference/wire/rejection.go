package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"everstep/activities/inference"
)

// errorBody holds what servers say went wrong, nested in "error", or flat.
type errorBody struct {
	Message    Text            `json:"message"`
	Detail     json.RawMessage `json:"detail"`
	Type       Text            `json:"type"`
	Code       Text            `json:"code"`
	Param      Text            `json:"param"`
	Status     Text            `json:"status"`
	StatusCode Text            `json:"status_code"`
	Error      json.RawMessage `json:"error"`
	RequestID  Text            `json:"request_id"`
	Inner      *errorBody      `json:"innererror"`
	Metadata   *struct {
		Raw Text `json:"raw"`
	} `json:"metadata"`
	Details json.RawMessage `json:"details"`
}

// ParseRejection reads an error's body in all the shapes that are found. What
// is not JSON is taken for the message, unless it is a page. The status is what
// the body names, if it does. The words are as they came: keys and all.
func ParseRejection(body []byte) inference.Rejection {
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
	if Present(outer.Error) {
		e = errorBody{}
		if json.Unmarshal(outer.Error, &e) != nil {
			e = outer
			_ = e.Message.UnmarshalJSON(outer.Error)
		}
	}
	r := inference.Rejection{
		Message: string(e.Message), Type: string(e.Type + " " + e.Status), Code: string(e.Code), Param: string(e.Param), RequestID: string(outer.RequestID),
	}
	if r.Message == "" {
		r.Message = detail(e.Detail)
	}
	for _, number := range []Text{e.StatusCode, e.Code} {
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
	googleDetails(e.Details, &r)
	return r
}

// detail reads the field in which some frameworks put a text, or a list of what is wrong.
func detail(data json.RawMessage) string {
	var list []struct {
		Message Text   `json:"msg"`
		Place   []Text `json:"loc"`
	}
	if json.Unmarshal(data, &list) == nil && len(list) > 0 {
		place := make([]string, len(list[0].Place))
		for i, p := range list[0].Place {
			place[i] = string(p)
		}
		return strings.Join(place, ".") + ": " + string(list[0].Message)
	}
	var t Text
	_ = t.UnmarshalJSON(data)
	return string(t)
}

// googleDetails reads what is wrong from Google's error details, and the delay they ask for.
func googleDetails(data json.RawMessage, r *inference.Rejection) {
	var details []struct {
		Reason     Text `json:"reason"`
		Delay      Text `json:"retryDelay"`
		Violations []struct {
			Quota Text `json:"quotaId"`
		} `json:"violations"`
	}
	if json.Unmarshal(data, &details) != nil {
		return
	}
	for _, d := range details {
		r.Hint += " " + string(d.Reason)
		for _, v := range d.Violations {
			r.Hint += " " + string(v.Quota)
		}
		if seconds, ok := strings.CutSuffix(string(d.Delay), "s"); ok && !r.Asked {
			r.RetryAfter, r.Asked = inference.Delay(seconds, time.Second)
		}
	}
}

// plain is a body that is not JSON, where it can be shown; it is bounded when it is.
func plain(body []byte) string {
	if len(body) == 0 || body[0] == '<' || body[0] == '{' {
		return ""
	}
	return string(bytes.ToValidUTF8(body, nil))
}
