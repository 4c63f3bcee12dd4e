package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
)

func TestPricesHoldOnTheVendorsOwnServer(t *testing.T) {
	t.Parallel()
	const key = "openai-chat"
	for name, test := range map[string]struct {
		config Config
		model  domain.LLMConfig
		known  bool
	}{
		"as it comes":               {Config{}, domain.LLMConfig{Provider: key, Model: "gpt-5"}, true},
		"OpenAI, by its URL":        {Config{Vendors: map[string]Access{"openai": {BaseURL: "https://API.openai.com/v1/"}}}, domain.LLMConfig{Provider: key, Model: "gpt-5"}, true},
		"another server":            {Config{Vendors: map[string]Access{"openai": {BaseURL: "http://127.0.0.1:8000/v1"}}}, domain.LLMConfig{Provider: key, Model: "gpt-5"}, false},
		"one that looks like it":    {Config{Vendors: map[string]Access{"openai": {BaseURL: "https://api.openai.com.example.com/v1"}}}, domain.LLMConfig{Provider: key, Model: "gpt-5"}, false},
		"Azure":                     {Config{Vendors: map[string]Access{"openai": {BaseURL: "https://me.openai.azure.com/v1"}}}, domain.LLMConfig{Provider: key, Model: "gpt-5"}, false},
		"the definition's":          {Config{}, domain.LLMConfig{Provider: key, Model: "gpt-5", BaseURL: "http://127.0.0.1:8000/v1"}, false},
		"the definition's, over it": {Config{Vendors: map[string]Access{"openai": {BaseURL: "http://127.0.0.1:8000/v1"}}}, domain.LLMConfig{Provider: key, Model: "gpt-5", BaseURL: "https://api.openai.com/v1"}, true},
		"no URL at all":             {Config{}, domain.LLMConfig{Provider: key, Model: "gpt-5", BaseURL: "::"}, false},
		"a provider of one's own":   {Config{Providers: map[string]inference.Provider{key: openAI{}}}, domain.LLMConfig{Provider: key, Model: "gpt-5"}, false},
		"an unknown model":          {Config{}, domain.LLMConfig{Provider: key, Model: "llama-4"}, false},
		"a script":                  {Config{}, domain.LLMConfig{Provider: "scripted", Model: "gpt-5"}, false},
		"another vendor's":          {Config{Vendors: map[string]Access{"openai": {BaseURL: "http://127.0.0.1:8000/v1"}}}, domain.LLMConfig{Provider: "anthropic", Model: "claude-haiku-4-5"}, true},
		"openai, with its server":   {Config{Vendors: map[string]Access{"openai": {BaseURL: "http://127.0.0.1:8000/v1"}}}, domain.LLMConfig{Provider: "openai", Model: "gpt-5"}, false},
		"anthropic, with its own":   {Config{Vendors: map[string]Access{"anthropic": {BaseURL: "http://127.0.0.1:8000"}}}, domain.LLMConfig{Provider: "anthropic", Model: "claude-haiku-4-5"}, false},
		"gemini, with its own":      {Config{Vendors: map[string]Access{"gemini": {BaseURL: "http://127.0.0.1:8000"}}}, domain.LLMConfig{Provider: "gemini", Model: "gemini-2.5-flash"}, false},
		"gemini, as it comes":       {Config{}, domain.LLMConfig{Provider: "gemini", Model: "gemini-2.5-flash"}, true},
		"another vendor's, by URL":  {Config{}, domain.LLMConfig{Provider: "anthropic", Model: "claude-haiku-4-5", BaseURL: "https://gateway.example.com"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			find, err := test.config.facts()
			require.NoError(t, err)
			facts, ok := find(test.model)
			require.Equal(t, test.known, ok)
			require.Equal(t, test.known, facts.Price != nil)
		})
	}
}

func TestPricesOfAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "prices.yaml")
	require.NoError(t, os.WriteFile(path, []byte("models:\n  openai-chat/llama-4: {input: 0.2, output: 0.6}\n"), 0o600))
	m, err := gather(t.Context(), Config{Dir: t.TempDir(), Prices: path, Vendors: map[string]Access{"openai": {BaseURL: "http://127.0.0.1:8000/v1"}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.close()) })
	facts, ok := m.facts(domain.LLMConfig{Provider: "openai-chat", Model: "llama-4"})
	require.True(t, ok, "on whatever server")
	require.EqualValues(t, 200_000_000, facts.Price.Input)
}
