package openaichat_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
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

// hijack hands each connection over once its request has arrived.
func hijack(t *testing.T, then func(net.Conn)) *httptest.Server {
	t.Helper()
	return serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			then(conn)
			_ = conn.Close()
		}
	})
}

func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	piece := "5e\r\n" + chunk(`{"index":0,"delta":{"content":"hello"},"finish_reason":null}`)[:0x5e]
	tests := map[string]struct {
		sends string
		code  domain.Code
		says  string
	}{
		"before the header": {says: "before an answer came"},
		"in the header":     {sends: head[:20], says: "before an answer came"},
		"in the body":       {sends: head + piece, code: domain.CodeMalformed, says: "cut off"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int32
			call := question()
			call.Sent = func() { sent.Add(1) }
			_, err := infer(t, hijack(t, func(conn net.Conn) { _, _ = io.WriteString(conn, test.sends) }).URL, call)
			require.NotNil(t, err)
			require.Equal(t, domain.Unavailable, err.Kind)
			require.Equal(t, test.code, err.Code, err.Message)
			require.True(t, err.Billed, "the request had left")
			require.Contains(t, err.Message, test.says)
			require.EqualValues(t, 1, sent.Load())
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
	for name, body := range map[string]string{"at first": "", "in the middle": chunk(hello)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, closed := stream(t, body)
			p, err := openaichat.New(openaichat.Config{BaseURL: url, Timeouts: wire.Timeouts{FirstByte: 20 * time.Millisecond, Idle: 20 * time.Millisecond}})
			require.NoError(t, err)
			_, err = p.Infer(t.Context(), question(), func(inference.Delta) {})
			failed, ok := errors.AsType[*domain.Error](err)
			require.True(t, ok)
			require.Equal(t, domain.CodeTimeout, failed.Code)
			require.Equal(t, domain.Unavailable, failed.Kind)
			require.True(t, failed.Billed)
			<-closed
		})
	}
}

// TestSilenceAfterTheAnswer: what is whole does not wait for its end marker.
func TestSilenceAfterTheAnswer(t *testing.T) {
	t.Parallel()
	url, closed := stream(t, chunk(hello)+chunk(finish))
	p, err := openaichat.New(openaichat.Config{BaseURL: url, Timeouts: wire.Timeouts{Idle: 20 * time.Millisecond}})
	require.NoError(t, err)
	answer, err := p.Infer(t.Context(), question(), func(inference.Delta) {})
	require.NoError(t, err)
	require.Equal(t, "hello", answer.Message.Text())
	<-closed
}

func TestCancelKeepsWhatCame(t *testing.T) {
	t.Parallel()
	url, closed := stream(t, chunk(`{"index":0,"delta":{"content":"hello","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}`))
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	answer, err := provider(t, url).Infer(ctx, question(), func(inference.Delta) { cancel(stop) })
	require.Error(t, err)
	require.True(t, domain.AsError(err).Billed)
	require.True(t, answer.Partial)
	require.Equal(t, "hello", answer.Message.Text())
	require.Empty(t, answer.Message.ToolCalls, "no call of a cut answer may run")
	require.Equal(t, "m-1", answer.Response.Model)
	<-closed
}

func TestResponseWithoutEnd(t *testing.T) {
	t.Parallel()
	server := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		line := make([]byte, 1<<20)
		for i := range line {
			line[i] = ':'
		}
		for r.Context().Err() == nil {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	})
	_, err := infer(t, server.URL, question())
	require.NotNil(t, err)
	require.Equal(t, domain.TooLarge, err.Kind)
	require.True(t, err.Billed)
}

// TestEnvironmentIsNotRead: keys come from the configuration alone, where the
// SDK would take more from the environment.
func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from-env")
	t.Setenv("OPENAI_ADMIN_KEY", "admin-from-env")
	t.Setenv("OPENAI_ORG_ID", "org-from-env")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: from-env")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	var headers http.Header
	server := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		headers = r.Header.Clone()
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
	})
	p, err := openaichat.New(openaichat.Config{BaseURL: server.URL})
	require.NoError(t, err)
	_, err = p.Infer(t.Context(), question(), func(inference.Delta) {})
	require.NoError(t, err)
	for key, values := range headers {
		for _, value := range values {
			require.NotContains(t, value, "from-env", key)
		}
	}
	require.Empty(t, headers.Get("Authorization"))
}

func TestConfig(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config openaichat.Config
		wrong  string
	}{
		"default":        {},
		"a server":       {config: openaichat.Config{BaseURL: "http://127.0.0.1:8000/v1", Key: wire.FixedKey("secret")}},
		"no scheme":      {config: openaichat.Config{BaseURL: "127.0.0.1:8000"}, wrong: "OPENAI_BASE_URL"},
		"another scheme": {config: openaichat.Config{BaseURL: "ftp://host/v1"}, wrong: "OPENAI_BASE_URL: is not an http"},
		"a password":     {config: openaichat.Config{BaseURL: "https://user:secret@host/v1"}, wrong: "user or password"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := openaichat.New(test.config)
			if test.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.wrong)
			require.NotContains(t, err.Error(), "secret")
			require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	server, official := openaichat.Config{BaseURL: "http://127.0.0.1:8000/v1"}, openaichat.Config{}
	model := func(change func(*domain.LLMConfig)) domain.LLMConfig {
		c := domain.LLMConfig{Provider: openaichat.Name, Model: "m"}
		change(&c)
		return c
	}
	tests := map[string]struct {
		config openaichat.Config
		model  domain.LLMConfig
		code   domain.Code
		wrong  string
	}{
		"no key needed":      {config: server, model: model(func(*domain.LLMConfig) {})},
		"no key at OpenAI":   {config: official, model: model(func(*domain.LLMConfig) {}), code: domain.CodeAuth, wrong: "OPENAI_API_KEY"},
		"a key of two lines": {config: openaichat.Config{Key: wire.FixedKey("secret\nsecret")}, model: model(func(*domain.LLMConfig) {}), wrong: "OPENAI_API_KEY"},
		"no model":           {config: server, model: model(func(c *domain.LLMConfig) { c.Model = " " }), code: domain.CodeModelNotFound, wrong: "model"},
		"another URL":        {config: server, model: model(func(c *domain.LLMConfig) { c.BaseURL = "https://elsewhere" }), wrong: "base_url"},
		"the same URL":       {config: server, model: model(func(c *domain.LLMConfig) { c.BaseURL = server.BaseURL })},
		"options":            {config: server, model: model(func(c *domain.LLMConfig) { c.Options = domain.Metadata{"seed": []byte("7")} })},
		"an option of ours":  {config: server, model: model(func(c *domain.LLMConfig) { c.Options = domain.Metadata{"stream": []byte("false")} }), wrong: "options: stream"},
		"a bound of letters": {config: server, model: model(func(c *domain.LLMConfig) { c.Options = domain.Metadata{"max_tokens": []byte(`"x"`)} }), wrong: "max_tokens"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := openaichat.New(test.config)
			require.NoError(t, err)
			err = p.Check(t.Context(), test.model)
			if test.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.wrong)
			require.NotContains(t, err.Error(), "secret")
			require.Equal(t, test.code, domain.AsError(err).Code)
		})
	}
}
