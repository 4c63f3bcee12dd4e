package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openai"
	"everstep/domain"
	"everstep/testsuite/providers"
)

// TestRequestID: the provider's id of the request is kept, of a failure too.
func TestRequestID(t *testing.T) {
	t.Parallel()
	header := http.Header{"X-Request-Id": {"req_1"}}
	answer, err := infer(t, providers.Serve(t, 200, header, sse(ended("completed", "", hello))).URL, question())
	require.Nil(t, err)
	require.Equal(t, "req_1", answer.Response.RequestID)
	answer, err = infer(t, providers.Serve(t, 200, header, sse(hel)).URL, question())
	require.NotNil(t, err)
	require.Equal(t, "req_1", answer.Response.RequestID)
	require.Contains(t, err.Detail, "request req_1")
	_, err = infer(t, providers.Serve(t, 500, http.Header{"Apim-Request-Id": {"azure-1"}}, "").URL, question())
	require.NotNil(t, err)
	require.Contains(t, err.Detail, "request azure-1")
}

func TestCancelKeepsWhatCame(t *testing.T) {
	t.Parallel()
	thinking := `{"type":"response.reasoning_summary_text.delta","output_index":1,"summary_index":0,"delta":"hm"}`
	url, closed := providers.Stall(t, sse(created, itemDone(0, called), itemDone(1, rs))+sse(thinking, strings.Replace(hel, `"output_index":0`, `"output_index":2`, 1)))
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

// TestEnvironmentIsNotRead: keys come from the configuration alone.
func TestEnvironmentIsNotRead(t *testing.T) {
	for _, variable := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(variable, "from-env")
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	var headers http.Header
	var query string
	server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		headers, query = r.Header.Clone(), r.URL.RawQuery
		_, _ = io.WriteString(w, okay)
	})
	p, err := wire.New(openai.API(), wire.Config{BaseURL: server.URL + "/openai/v1?api-version=preview"})
	require.NoError(t, err)
	_, err = p.Infer(t.Context(), question(), func(inference.Delta) {})
	require.NoError(t, err)
	for key, values := range headers {
		require.NotContains(t, strings.Join(values, " "), "from-env", key)
	}
	require.Empty(t, headers.Get("Authorization"))
	require.Equal(t, "api-version=preview", query)
	_, err = wire.New(openai.API(), wire.Config{BaseURL: "ftp://host"})
	require.ErrorContains(t, err, "OPENAI_BASE_URL: is not an http")
}

// TestThinksUnheard: a model that thinks and shows nothing may take longer than a pause.
func TestThinksUnheard(t *testing.T) {
	t.Parallel()
	ping := sse(`{"type":"keepalive"}`)
	pieces := []string{sse(created, `{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1"}}`), ping, ping, ping, sse(ended("completed", "", hello))}
	p, err := wire.New(openai.API(), wire.Config{BaseURL: providers.Slowly(t, 250*time.Millisecond, pieces...).URL, Timeouts: wire.Timeouts{Idle: 500 * time.Millisecond}})
	require.NoError(t, err)
	_, failed := providers.Infer(t, p, question())
	require.Nil(t, failed)
}
