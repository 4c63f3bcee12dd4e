package openaichat_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/testsuite/providers"
)

func TestCancelKeepsWhatCame(t *testing.T) {
	t.Parallel()
	url, closed := providers.Stall(t, chunk(`{"index":0,"delta":{"content":"hello","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}`))
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

// TestEnvironmentIsNotRead: keys come from the configuration alone, where the
// SDK would take more from the environment.
func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from-env")
	t.Setenv("OPENAI_ADMIN_KEY", "admin-from-env")
	t.Setenv("OPENAI_ORG_ID", "org-from-env")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: from-env")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	var headers http.Header
	server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		headers = r.Header.Clone()
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
	})
	p, err := wire.New(openaichat.Dialects()[0].API(), wire.Config{BaseURL: server.URL})
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

func TestCheck(t *testing.T) {
	t.Parallel()
	server, official := wire.Config{BaseURL: "http://127.0.0.1:8000/v1"}, wire.Config{}
	model := func(change func(*domain.LLMConfig)) domain.LLMConfig {
		c := domain.LLMConfig{Provider: openaichat.Name, Model: "m"}
		change(&c)
		return c
	}
	tests := map[string]struct {
		config wire.Config
		model  domain.LLMConfig
		code   domain.Code
		wrong  string
	}{
		"no key needed":      {config: server, model: model(func(*domain.LLMConfig) {})},
		"no key at OpenAI":   {config: official, model: model(func(*domain.LLMConfig) {}), code: domain.CodeAuth, wrong: "OPENAI_API_KEY"},
		"a key of two lines": {config: wire.Config{Key: wire.FixedKey("secret\nsecret")}, model: model(func(*domain.LLMConfig) {}), wrong: "OPENAI_API_KEY"},
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
			p, err := wire.New(openaichat.Dialects()[0].API(), test.config)
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
