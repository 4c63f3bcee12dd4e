package wire_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// decoder reads a little API: events and bodies are {"text":…}, {"error":…} or
// {"end":true}; the data "bye" is behind the last event.
type decoder struct {
	*wire.Attempt
	complete, full bool
}

func (d *decoder) Finish() string {
	switch {
	case d.full:
		return "Model_context_window_exceeded"
	case d.complete:
		return "end"
	}
	return ""
}

func (d *decoder) Answer() inference.Answer { return d.Finished(domain.FinishStop, "end") }

func (d *decoder) Whole(data []byte) error {
	d.complete = !bytes.Contains(data, []byte("unfinished"))
	return d.take(data)
}

func (d *decoder) Event(e wire.Event) (done bool, err error) {
	if string(e.Data) == "bye" {
		return true, nil
	}
	return false, d.take(e.Data)
}

func (d *decoder) take(data []byte) error {
	var piece struct {
		Text  wire.Text       `json:"text"`
		Error json.RawMessage `json:"error"`
		End   bool            `json:"end"`
		Full  bool            `json:"full"`
	}
	if json.Unmarshal(data, &piece) != nil {
		return d.Malformed("no piece", data)
	}
	if wire.Present(piece.Error) {
		return d.Inner(data)
	}
	d.Text(0, string(piece.Text))
	d.complete, d.full = d.complete || piece.End, piece.Full
	return nil
}

func TestRead(t *testing.T) {
	t.Parallel()
	const hello, end = "data: {\"text\":\"hello\"}\n\n", "data: {\"end\":true}\n\n"
	tests := map[string]struct {
		body   string
		kind   domain.Kind
		code   domain.Code
		says   string
		header http.Header
	}{
		"a stream":              {body: hello + end + "data: bye\n\n"},
		"no last event":         {body: hello + end},
		"cut behind the end":    {body: hello + end + "data: {\"te"},
		"in one piece":          {body: `{"text":"hello"}`},
		"cut":                   {body: hello, kind: domain.Unavailable, code: domain.CodeMalformed, says: "ended before"},
		"bye before the end":    {body: hello + "data: bye\n\n", kind: domain.Unavailable, code: domain.CodeMalformed, says: "done"},
		"an error inside":       {body: hello + "data: {\"error\":{\"code\":429,\"message\":\"slow\"}}\n\n", kind: domain.Throttled, says: "slow"},
		"no piece":              {body: hello + "data: {oops\n\n", kind: domain.Unavailable, code: domain.CodeMalformed, says: "no piece"},
		"an error in the body":  {body: `{"error":"busy"}`, kind: domain.Unavailable, says: "busy"},
		"cut JSON":              {body: `{"text":"hel`, kind: domain.Unavailable, code: domain.CodeMalformed, says: "not valid JSON"},
		"a page":                {body: "<html>sign in</html>", kind: domain.Unavailable, code: domain.CodeMalformed, says: "page"},
		"words":                 {body: "hello", kind: domain.Unavailable, code: domain.CodeMalformed, says: "no events"},
		"empty":                 {kind: domain.Unavailable, code: domain.CodeMalformed, says: "empty"},
		"a page, of no type":    {body: " <html>", header: http.Header{"Content-Type": nil}, kind: domain.Unavailable, code: domain.CodeMalformed, says: "a page (of no stated type)"},
		"a page, of a type":     {body: "<html>", header: http.Header{"Content-Type": {"text/x"}}, kind: domain.Unavailable, code: domain.CodeMalformed, says: "a page (text/x)"},
		"one that is not whole": {body: `{"text":"hello","unfinished":true}`, kind: domain.Unavailable, code: domain.CodeMalformed, says: "the answer is not whole"},
		"a full window":         {body: "data: {\"text\":\"hello\",\"end\":true,\"full\":true}\n\n", kind: domain.TooLarge, code: domain.CodeContextOverflow, says: "was cut off where the conversation exceeds the context of model m"},
		"without bound":         {body: strings.Repeat(": wait\n\n", 1000), kind: domain.TooLarge, says: "more than 5000 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				for name, values := range test.header {
					w.Header()[name] = values
				}
				_, _ = io.WriteString(w, test.body)
			})
			answer, failed := attempt(t, wire.Config{BaseURL: server, MaxBody: 5000})
			if test.kind == "" {
				require.Nil(t, failed)
				require.Equal(t, "hello", answer.Message.Text())
				return
			}
			require.NotNil(t, failed)
			require.Equal(t, test.kind, failed.Kind, failed.Message)
			require.Equal(t, test.code, failed.Code)
			require.Contains(t, failed.Message, test.says)
			require.True(t, failed.Billed)
			require.Equal(t, apiName, failed.Source)
		})
	}
}

// TestReadBounds: what is kept of an answer is bounded, and so is an event, but
// not to less than that.
func TestReadBounds(t *testing.T) {
	t.Parallel()
	const most = 16 << 20
	text := func(n int) string { return `{"text":"` + strings.Repeat("x", n-len(`{"text":""}`)) + `"}` }
	for name, test := range map[string]struct {
		body, says string
	}{
		"a body":             {text(most), ""},
		"a body, too long":   {text(most + 1), "the answer has more than 16777216 bytes"},
		"an event":           {"data: " + text(most-6) + "\n\n", "the answer has more than 4194304 bytes"},
		"a line, too long":   {"data: " + text(most), "an event of the answer has more than 16777216 bytes"},
		"lines, too long":    {strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 17), "an event of the answer has more than 16777216 bytes"},
		"many, too much":     {strings.Repeat("data: "+text(1<<20)+"\n\n", 5), "the answer has more than 4194304 bytes"},
		"a comment, no more": {":" + strings.Repeat("x", 8<<20) + "\n\ndata: {\"text\":\"hello\",\"end\":true}\n\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, test.body) })
			_, failed := attempt(t, wire.Config{BaseURL: server})
			if test.says == "" {
				require.Nil(t, failed)
				return
			}
			require.NotNil(t, failed)
			require.Equal(t, domain.TooLarge, failed.Kind)
			require.Contains(t, failed.Message, test.says)
		})
	}
}
