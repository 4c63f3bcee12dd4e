package providers

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/output"
	"everstep/domain"
)

// Serve answers every request alike, with the body's content type unless the header names one.
func Serve(t testing.TB, status int, header http.Header, body string) *httptest.Server {
	t.Helper()
	return ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for name, values := range header {
			w.Header()[name] = values
		}
		write(w, status, body)
	})
}

func write(w http.ResponseWriter, status int, body string) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", mediaType(body))
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func mediaType(body string) string {
	switch {
	case strings.HasPrefix(body, "data:"), strings.HasPrefix(body, "event:"), strings.HasPrefix(body, ":"):
		return "text/event-stream"
	case strings.HasPrefix(body, "<"):
		return "text/html"
	}
	return "application/json"
}

// ServeFunc serves until the test is over.
func ServeFunc(t testing.TB, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

// Infer makes one attempt. Its error is nil where the answer is whole.
func Infer(t testing.TB, p inference.Provider, call inference.Call) (inference.Answer, *domain.Error) {
	t.Helper()
	answer, err := p.Infer(t.Context(), call, func(inference.Delta) {})
	if err == nil {
		return answer, nil
	}
	typed, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	return answer, typed
}

// Told makes a call one whose answer has a format, told in a mode.
func Told(call inference.Call, mode domain.OutputMode, format domain.ResponseFormat, tools ...domain.ToolSpec) inference.Call {
	call.Format, call.OutputMode, call.Tools = format, mode, tools
	if mode == domain.OutputTool {
		tool := output.Tool(format, tools)
		call.Tools, call.OutputTool = slices.Concat(tools, []domain.ToolSpec{tool}), tool.Name
	}
	return call
}

// Stall sends a body and then waits for the other side to hang up.
func Stall(t testing.TB, body string) (url string, closed <-chan struct{}) {
	t.Helper()
	gone := make(chan struct{})
	s := ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		write(w, http.StatusOK, body)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	return s.URL, gone
}

// Slowly answers with pieces of a body, and a pause behind each.
func Slowly(t testing.TB, pause time.Duration, pieces ...string) *httptest.Server {
	t.Helper()
	return ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", mediaType(pieces[0]))
		for tick := time.Tick(pause); len(pieces) > 0; pieces = pieces[1:] {
			_, _ = io.WriteString(w, pieces[0])
			_ = http.NewResponseController(w).Flush()
			<-tick
		}
	})
}

// A Failure is a response that is no answer, and what comes of it.
type Failure struct {
	// Status is 200 where it is zero. What began to answer may be billed.
	Status int
	Header http.Header
	Body   string
	// Kind is that of the error. Empty: Unavailable.
	Kind   domain.Kind
	Code   domain.Code
	Billed bool
	After  time.Duration
	// Text is what had come of an answer, Says is in the error's message.
	Text, Says string
}

// Fails sends failures to a provider that infer asks. Then, or nil, sees what is peculiar to one.
func Fails(t *testing.T, failures map[string]Failure, infer func(t *testing.T, url string) (inference.Answer, *domain.Error), then func(t *testing.T, name string, answer inference.Answer)) {
	t.Helper()
	for name, f := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := cmp.Or(f.Status, http.StatusOK)
			answer, err := infer(t, Serve(t, status, f.Header, f.Body).URL)
			require.NotNil(t, err)
			require.Equal(t, cmp.Or(f.Kind, domain.Unavailable), err.Kind, err.Message)
			require.Equal(t, f.Code, err.Code, err.Message)
			require.Equal(t, f.Billed || status == http.StatusOK, err.Billed)
			require.Equal(t, f.After, err.RetryAfter)
			require.Contains(t, err.Message, f.Says)
			require.True(t, answer.Partial)
			require.Equal(t, f.Text, answer.Message.Text())
			require.Empty(t, answer.Message.ToolCalls)
			if then != nil {
				then(t, name, answer)
			}
		})
	}
}
