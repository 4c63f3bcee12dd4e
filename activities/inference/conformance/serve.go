package conformance

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/output"
	"everstep/domain"
)

// Serve answers every request alike. A content type that the header does not
// name is that of the body.
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
