package openai_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openai"
	"everstep/domain"
)

func TestNothingListens(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	call := question()
	call.Sent = func() { t.Error("nothing was sent") }
	_, err := infer(t, server.URL, call)
	require.NotNil(t, err)
	require.Equal(t, domain.Unavailable, err.Kind)
	require.False(t, err.Billed, "no byte has left")
	require.Contains(t, err.Message, "cannot reach 127.0.0.1")
}

func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n"
	tests := map[string]struct {
		sends string
		code  domain.Code
		says  string
	}{
		"before the header": {says: "before an answer came"},
		"in the header":     {sends: head[:20], says: "before an answer came"},
		"in the body":       {sends: head + sse(created, hel), code: domain.CodeMalformed, says: "cut off"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests, sent atomic.Int32
			server := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
				var conn net.Conn
				if conn, _, _ = http.NewResponseController(w).Hijack(); conn != nil {
					_, _ = io.WriteString(conn, test.sends)
					_ = conn.Close()
				}
			})
			call := question()
			call.Sent = func() { sent.Add(1) }
			_, err := infer(t, server.URL, call)
			require.NotNil(t, err)
			require.Equal(t, domain.Unavailable, err.Kind)
			require.Equal(t, test.code, err.Code, err.Message)
			require.True(t, err.Billed, "the request had left")
			require.Contains(t, err.Message, test.says)
			require.EqualValues(t, 1, sent.Load())
			require.EqualValues(t, 1, requests.Load(), "one attempt is one request")
		})
	}
}

// stream sends some events and then waits for the other side to hang up.
func stream(t *testing.T, body string) (url string, closed <-chan struct{}) {
	t.Helper()
	gone := make(chan struct{})
	server := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if body != "" {
			_, _ = io.WriteString(w, body)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
		close(gone)
	})
	return server.URL, gone
}

func TestSilence(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"at first": "", "in the middle": sse(created, hel)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, closed := stream(t, body)
			p, err := openai.New(openai.Config{Config: wire.Config{BaseURL: url, Timeouts: wire.Timeouts{FirstByte: 20 * time.Millisecond, Idle: 20 * time.Millisecond}}})
			require.NoError(t, err)
			_, err = p.Infer(t.Context(), question(), func(inference.Delta) {})
			failed, ok := errors.AsType[*domain.Error](err)
			require.True(t, ok)
			require.Equal(t, domain.CodeTimeout, failed.Code)
			require.True(t, failed.Billed)
			<-closed
		})
	}
}

// TestNothingIsAwaitedAfterTheEnd: a whole answer does not wait for its
// connection to close.
func TestNothingIsAwaitedAfterTheEnd(t *testing.T) {
	t.Parallel()
	url, closed := stream(t, sse(created, ended("completed", "", hello)))
	answer, err := infer(t, url, question())
	require.Nil(t, err)
	require.Equal(t, "hello", answer.Message.Text())
	<-closed
}

// TestRequestID: the provider's id of the request is kept, of a failure too.
func TestRequestID(t *testing.T) {
	t.Parallel()
	header := http.Header{"X-Request-Id": {"req_1"}}
	answer, err := infer(t, serve(t, 200, header, sse(ended("completed", "", hello))).URL, question())
	require.Nil(t, err)
	require.Equal(t, "req_1", answer.Response.RequestID)
	answer, err = infer(t, serve(t, 200, header, sse(hel)).URL, question())
	require.NotNil(t, err)
	require.Equal(t, "req_1", answer.Response.RequestID)
	require.Contains(t, err.Detail, "request req_1")
	_, err = infer(t, serve(t, 500, http.Header{"Apim-Request-Id": {"azure-1"}}, "").URL, question())
	require.NotNil(t, err)
	require.Contains(t, err.Detail, "request azure-1")
}

func TestCancelKeepsWhatCame(t *testing.T) {
	t.Parallel()
	thinking := `{"type":"response.reasoning_summary_text.delta","output_index":1,"summary_index":0,"delta":"hm"}`
	url, closed := stream(t, sse(created, itemDone(0, called), itemDone(1, rs))+sse(thinking, strings.Replace(hel, `"output_index":0`, `"output_index":2`, 1)))
	ctx, cancel := context.WithCancelCause(t.Context())
	answer, err := provider(t, url).Infer(ctx, question(), func(d inference.Delta) {
		if d.Text != "" {
			cancel(errors.New("stop"))
		}
	})
	require.Error(t, err)
	require.True(t, domain.AsError(err).Billed)
	require.True(t, answer.Partial)
	require.Equal(t, []domain.Part{{Type: domain.PartReasoning, Text: "hm"}, {Type: domain.PartText, Text: "hel"}}, answer.Message.Parts, "nothing that the API would want back")
	require.Empty(t, answer.Message.ToolCalls, "no call of a cut answer may run")
	require.Equal(t, "m-1", answer.Response.Model)
	<-closed
}

func TestResponseWithoutEnd(t *testing.T) {
	t.Parallel()
	server := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, sse(hel)); err != nil {
				return
			}
		}
	})
	p, err := openai.New(openai.Config{Config: wire.Config{BaseURL: server.URL, MaxBody: 1 << 16}})
	require.NoError(t, err)
	_, err = p.Infer(t.Context(), question(), func(inference.Delta) {})
	require.Equal(t, domain.TooLarge, domain.AsError(err).Kind)
	require.True(t, domain.AsError(err).Billed)
}

// TestKeyStaysHidden: neither a server that repeats the key nor a redirect
// brings it anywhere.
func TestKeyStaysHidden(t *testing.T) {
	t.Parallel()
	elsewhere := serveFunc(t, func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	for name, server := range map[string]*httptest.Server{
		"in an error":    serve(t, 400, nil, `{"error":{"message":"bad key `+testKey+`","code":"`+testKey+`"}}`),
		"in an event":    serve(t, 200, nil, sse(`{"type":"error","code":"x","message":"`+testKey+`"}`)),
		"in a response":  serve(t, 200, nil, sse(ended("failed", `,"error":{"code":"image_too_large","message":"`+testKey+`"}`))),
		"in what is not": serve(t, 200, nil, "data: "+testKey+"\n\n"),
		"in a redirect":  serve(t, 308, http.Header{"Location": {elsewhere.URL}}, ""),
	} {
		_, err := infer(t, server.URL, question())
		require.NotNil(t, err, name)
		require.NotContains(t, err.Message+err.Detail+err.Error(), testKey, name)
	}
}

// TestEnvironmentIsNotRead: keys come from the configuration alone.
func TestEnvironmentIsNotRead(t *testing.T) {
	for _, variable := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(variable, "from-env")
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	var headers http.Header
	var query string
	server := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		headers, query = r.Header.Clone(), r.URL.RawQuery
		_, _ = io.WriteString(w, okay)
	})
	p, err := openai.New(openai.Config{Config: wire.Config{BaseURL: server.URL + "/openai/v1?api-version=preview"}})
	require.NoError(t, err)
	_, err = p.Infer(t.Context(), question(), func(inference.Delta) {})
	require.NoError(t, err)
	for key, values := range headers {
		require.NotContains(t, strings.Join(values, " "), "from-env", key)
	}
	require.Empty(t, headers.Get("Authorization"))
	require.Equal(t, "api-version=preview", query)
	_, err = openai.New(openai.Config{Config: wire.Config{BaseURL: "ftp://host"}})
	require.ErrorContains(t, err, "OPENAI_BASE_URL: is not an http")
}
