package host

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
)

// TestPricesHoldOnTheVendorsOwnServer, and those of a file on whatever server.
func TestPricesHoldOnTheVendorsOwnServer(t *testing.T) {
	t.Parallel()
	path := written(t, filepath.Join(t.TempDir(), "prices.yaml"), "models:\n  openai-chat/llama-4: {input: 0.2, output: 0.6}\n")
	for name, test := range map[string]struct {
		// model is its provider and its name, url is the definition's, server is the worker's, as vendor=url.
		model, url, server string
		own                map[string]inference.Provider
		known              bool
	}{
		"as it comes":               {model: "openai-chat/gpt-5", known: true},
		"OpenAI, by its URL":        {model: "openai-chat/gpt-5", server: "openai=https://API.openai.com/v1/", known: true},
		"another server":            {model: "openai-chat/gpt-5", server: "openai=http://127.0.0.1:8000/v1"},
		"one that looks like it":    {model: "openai-chat/gpt-5", server: "openai=https://api.openai.com.example.com/v1"},
		"Azure":                     {model: "openai-chat/gpt-5", server: "openai=https://me.openai.azure.com/v1"},
		"the definition's":          {model: "openai-chat/gpt-5", url: "http://127.0.0.1:8000/v1"},
		"the definition's, over it": {model: "openai-chat/gpt-5", url: "https://api.openai.com/v1", server: "openai=http://127.0.0.1:8000/v1", known: true},
		"no URL at all":             {model: "openai-chat/gpt-5", url: "::"},
		"a provider of one's own":   {model: "openai-chat/gpt-5", own: map[string]inference.Provider{"openai-chat": openAI{}}},
		"an unknown model":          {model: "openai-chat/llama-5"},
		"one of the file":           {model: "openai-chat/llama-4", server: "openai=http://127.0.0.1:8000/v1", known: true},
		"a script":                  {model: "scripted/gpt-5"},
		"another vendor's":          {model: "anthropic/claude-haiku-4-5", server: "openai=http://127.0.0.1:8000/v1", known: true},
		"openai, with its server":   {model: "openai/gpt-5", server: "openai=http://127.0.0.1:8000/v1"},
		"anthropic, with its own":   {model: "anthropic/claude-haiku-4-5", server: "anthropic=http://127.0.0.1:8000"},
		"gemini, with its own":      {model: "gemini/gemini-2.5-flash", server: "gemini=http://127.0.0.1:8000"},
		"gemini, as it comes":       {model: "gemini/gemini-2.5-flash", known: true},
		"another vendor's, by URL":  {model: "anthropic/claude-haiku-4-5", url: "https://gateway.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := Config{Providers: test.own, Prices: path}
			if vendor, url, ok := strings.Cut(test.server, "="); ok {
				config.Vendors = map[string]Access{vendor: {BaseURL: url}}
			}
			find, err := config.facts()
			require.NoError(t, err)
			provider, model, _ := strings.Cut(test.model, "/")
			facts, ok := find(domain.LLMConfig{Provider: provider, Model: model, BaseURL: test.url})
			require.Equal(t, test.known, ok)
			require.Equal(t, test.known, facts.Price != nil)
		})
	}
}
