package providers

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// testCheck: what can be told without a request is told without one.
func (c Case) testCheck(t *testing.T) {
	t.Helper()
	s := serveBody(t, http.StatusOK, nil, c.Text("hello").whole())
	here := wire.Config{BaseURL: s.URL, Key: wire.FixedKey(Key)}
	model := domain.LLMConfig{Provider: c.API.Name, Model: c.Model}
	for name, test := range map[string]struct {
		config wire.Config
		model  domain.LLMConfig
		kind   domain.Kind
		code   domain.Code
		says   string
	}{
		"all there":              {config: here, model: model},
		"no key needed":          {config: wire.Config{BaseURL: s.URL}, model: model},
		"no key":                 {config: wire.Config{}, model: model, kind: domain.Denied, code: domain.CodeAuth, says: c.API.KeyVariable()},
		"a key that is two":      {config: wire.Config{BaseURL: s.URL, Key: wire.FixedKey(Key + "\n" + Key)}, model: model, kind: domain.Invalid, says: c.API.KeyVariable()},
		"a key that is not told": {config: wire.Config{BaseURL: s.URL, Key: noKey}, model: model, kind: domain.Denied, code: domain.CodeAuth, says: "no key today"},
		"an empty key":           {config: wire.Config{Key: wire.FixedKey("")}, model: model, kind: domain.Denied, code: domain.CodeAuth, says: c.API.KeyVariable()},
		"a key with a line end":  {config: wire.Config{Key: wire.FixedKey(Key + "\n")}, model: model, kind: domain.Invalid, says: c.API.KeyVariable()},
		"a key in quotes":        {config: wire.Config{Key: wire.FixedKey("\"" + Key + "\r\"")}, model: model, kind: domain.Invalid, says: c.API.KeyVariable()},
		"a key of spaces":        {config: wire.Config{Key: wire.FixedKey("  ")}, model: model, kind: domain.Invalid, says: c.API.KeyVariable()},
		"a key with a header":    {config: wire.Config{Key: wire.FixedKey(Key + "\r\nX-More: " + Key)}, model: model, kind: domain.Invalid, says: c.API.KeyVariable()},
		"no model":               {config: here, model: domain.LLMConfig{Provider: c.API.Name}, kind: domain.Invalid, code: domain.CodeModelNotFound, says: "model"},
		"another server":         {config: here, model: domain.LLMConfig{Provider: c.API.Name, Model: c.Model, BaseURL: "https://elsewhere.example"}, kind: domain.Denied, says: "base_url"},
	} {
		p := c.opened(t, test.config)
		err := p.Check(t.Context(), test.model)
		if test.kind == "" {
			require.NoError(t, err, name)
			continue
		}
		require.Error(t, err, name)
		failed := domain.AsError(err)
		require.Equal(t, test.kind, failed.Kind, "%s: %s", name, failed.Message)
		require.Equal(t, test.code, failed.Code, "%s: %s", name, failed.Message)
		require.Equal(t, c.API.Name, failed.Source, name)
		require.Contains(t, failed.Message, test.says, name)
		require.NotContains(t, failed.Error()+failed.Detail, Key, name)
		require.Positive(t, p.MinOutputTokens())
	}
	// What Check refuses, Infer does not send.
	p := c.opened(t, wire.Config{BaseURL: s.URL, Key: noKey})
	o := Attempt(t.Context(), t, p, c.call("hello"), nil)
	require.NotNil(t, o.Err)
	require.Zero(t, o.Sent)
	require.Empty(t, s.asked())
}

func noKey() (string, error) {
	return "", domain.CodedErrorf(domain.Denied, domain.CodeAuth, "no key today")
}

// TestEnvironmentIsNotRead: keys, headers and servers come from the configuration alone, where the SDKs of vendors would
// take them from the environment.
func TestEnvironmentIsNotRead(t *testing.T) {
	for _, name := range strings.Fields(`OPENAI_API_KEY OPENAI_ADMIN_KEY OPENAI_ORG_ID OPENAI_PROJECT_ID OPENAI_CUSTOM_HEADERS
		ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_PROFILE ANTHROPIC_CUSTOM_HEADERS GEMINI_API_KEY GOOGLE_API_KEY`) {
		t.Setenv(name, "X-Custom: from-env")
	}
	for _, name := range []string{"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"} {
		t.Setenv(name, "http://127.0.0.1:1/from-env")
	}
	for name, c := range cases() {
		s := serveBody(t, http.StatusOK, nil, c.Text("hello").whole())
		_, err := Infer(t, c.opened(t, wire.Config{BaseURL: s.URL}), c.call("hello"))
		require.Nil(t, err, name)
		sent := s.asked()[0]
		require.NotContains(t, sent.url+sent.body, "from-env", name)
		for key, values := range sent.header {
			require.NotContains(t, strings.Join(values, " "), "from-env", "%s: %s", name, key)
		}
		for _, key := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
			require.Empty(t, sent.header.Get(key), "%s: no key was given", name)
		}
	}
}
