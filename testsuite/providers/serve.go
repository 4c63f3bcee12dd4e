package providers

import (
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
	"everstep/activities/inference/wire"
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

// Options gives an adapter one option after the other: its key, a space and its value, with what its error says, empty
// for none.
func Options(t *testing.T, api wire.API, model string, options map[string]string) {
	t.Helper()
	p, err := wire.New(api, wire.Config{BaseURL: "http://127.0.0.1:1"})
	require.NoError(t, err)
	for option, says := range options {
		key, value, _ := strings.Cut(option, " ")
		err := p.Check(t.Context(), domain.LLMConfig{Provider: api.Name, Model: model, Options: domain.Metadata{key: []byte(value)}})
		if says == "" {
			require.NoError(t, err, option)
			continue
		}
		require.ErrorContains(t, err, "options: "+says, option)
	}
}
