package codec_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"everstep/worker/host/codec"
	"everstep/worker/host/door"
)

const ui = "http://localhost:8233"

func serve(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(codec.New().Handler(door.Door{Origins: []string{ui}}))
	t.Cleanup(server.Close)
	return server
}

func ask(t *testing.T, method, url, origin string, body io.Reader) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, body)
	require.NoError(t, err)
	if origin != "" {
		request.Header.Set("Origin", origin)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(text)
}

func TestHandlerDecodesForTheUI(t *testing.T) {
	t.Parallel()
	server := serve(t)
	want := payload("json/plain", bytes.Repeat([]byte("a"), 100_000))
	encoded, err := codec.New().Encode([]*commonpb.Payload{want})
	require.NoError(t, err)
	body, err := protojson.Marshal(&commonpb.Payloads{Payloads: encoded})
	require.NoError(t, err)
	for name, origin := range map[string]string{"the UI": ui, "the CLI": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, text := ask(t, http.MethodPost, server.URL+"/decode", origin, bytes.NewReader(body))
			require.Equal(t, http.StatusOK, response.StatusCode)
			require.Equal(t, origin, response.Header.Get("Access-Control-Allow-Origin"))
			var got commonpb.Payloads
			require.NoError(t, protojson.Unmarshal([]byte(text), &got))
			require.True(t, proto.Equal(want, got.Payloads[0]))
		})
	}
}

// TestHandlerRefusesOtherNames: a page under a name that is bound to this
// machine's address is of the endpoint's own origin.
func TestHandlerRefusesOtherNames(t *testing.T) {
	t.Parallel()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, serve(t).URL+"/decode", strings.NewReader(`{}`))
	require.NoError(t, err)
	request.Host = "evil.test:8234"
	request.Header.Set("Origin", "http://evil.test:8234")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusForbidden, response.StatusCode)
}

func TestHandlerAnswersPreflight(t *testing.T) {
	t.Parallel()
	response, _ := ask(t, http.MethodOptions, serve(t).URL+"/decode", ui, nil)
	require.Equal(t, http.StatusNoContent, response.StatusCode)
	require.Equal(t, ui, response.Header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, response.Header.Get("Access-Control-Allow-Headers"), "X-Namespace")
	require.Contains(t, response.Header.Get("Access-Control-Allow-Methods"), "POST")
}

func TestHandlerRefuses(t *testing.T) {
	t.Parallel()
	server := serve(t)
	for name, test := range map[string]struct {
		method, path, origin, body string
		status                     int
	}{
		"another page":     {http.MethodPost, "/decode", "http://evil.example", `{}`, http.StatusForbidden},
		"its preflight":    {http.MethodOptions, "/decode", "http://evil.example", ``, http.StatusForbidden},
		"a sandboxed page": {http.MethodPost, "/decode", "null", `{}`, http.StatusForbidden},
		"not JSON":         {http.MethodPost, "/decode", ui, `rubbish`, http.StatusBadRequest},
		"a get":            {http.MethodGet, "/decode", ui, ``, http.StatusNotFound},
		"another path":     {http.MethodPost, "/", ui, `{}`, http.StatusNotFound},
		"too large a body": {http.MethodPost, "/decode", ui, `{"payloads":[{"data":"` + strings.Repeat("A", 17<<20) + `"}]}`, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, _ := ask(t, test.method, server.URL+test.path, test.origin, strings.NewReader(test.body))
			require.Equal(t, test.status, response.StatusCode)
			if test.status == http.StatusForbidden {
				require.Empty(t, response.Header.Get("Access-Control-Allow-Origin"))
			}
		})
	}
}
