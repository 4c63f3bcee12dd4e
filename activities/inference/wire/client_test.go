package wire_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// vendor is an API whose vendor's own servers ask for more than others.
func vendor() wire.API {
	a := api(says)
	a.OwnDomain, a.MinOutputTokens, a.ObjectsOnly, a.KeyParameter = "", 16, true, "key"
	a.CheckFormat = func(_ domain.LLMConfig, f domain.ResponseFormat, _ bool) error {
		if f.Name == "odd" {
			return errors.New("an odd name")
		}
		return nil
	}
	return a
}

func TestCheck(t *testing.T) {
	t.Parallel()
	key := wire.FixedKey("sk-1")
	local := wire.Config{BaseURL: "http://127.0.0.1:1/v1"}
	own := wire.Config{Key: key}
	for name, test := range map[string]struct {
		config wire.Config
		model  domain.LLMConfig
		wrong  string
	}{
		"the vendor's":         {config: own, model: domain.LLMConfig{Model: "m"}},
		"in capitals":          {config: wire.Config{BaseURL: "https://MODELS.example/v2"}, model: domain.LLMConfig{Model: "m"}, wrong: "THE_API_KEY: is not set on the worker, and MODELS.example needs a key"},
		"a bound too small":    {config: own, model: domain.LLMConfig{Model: "m", MaxOutputTokens: 15}, wrong: "max_output_tokens: models.example takes no fewer than 16"},
		"the smallest":         {config: own, model: domain.LLMConfig{Model: "m", MaxOutputTokens: 16}},
		"an option too small":  {config: own, model: domain.LLMConfig{Model: "m", Options: domain.Metadata{"most": []byte("3")}}, wrong: "no fewer than 16"},
		"an option of ours":    {config: own, model: domain.LLMConfig{Model: "m", Options: domain.Metadata{"model": []byte(`"x"`)}}, wrong: "options: model is set by Everstep"},
		"the same URL":         {config: local, model: domain.LLMConfig{Model: "m", BaseURL: local.BaseURL}},
		"another URL":          {config: local, model: domain.LLMConfig{Model: "m", BaseURL: "http://elsewhere"}, wrong: "base_url: this worker does not send its key there"},
		"one that is not":      {config: wire.Config{AllowBaseURLs: []string{"http://else"}}, model: domain.LLMConfig{Model: "m", BaseURL: "http://elsewhere"}, wrong: "--allow-base-urls"},
		"one that is":          {config: wire.Config{AllowBaseURLs: []string{"http://elsewhere"}}, model: domain.LLMConfig{Model: "m", BaseURL: "http://elsewhere"}},
		"any":                  {config: wire.Config{AllowBaseURLs: []string{"*"}}, model: domain.LLMConfig{Model: "m", BaseURL: "http://elsewhere"}},
		"a key in a parameter": {config: wire.Config{AllowBaseURLs: []string{"*"}}, model: domain.LLMConfig{Model: "m", BaseURL: "http://host?key=canary"}, wrong: "base_url: holds a key; give it in THE_API_KEY"},
		"another parameter":    {config: wire.Config{AllowBaseURLs: []string{"*"}}, model: domain.LLMConfig{Model: "m", BaseURL: "http://host?version=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, err := wire.New(vendor(), test.config)
			require.NoError(t, err)
			err = client.Check(t.Context(), test.model)
			if test.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.wrong)
			require.NotContains(t, err.Error(), "canary")
			require.Equal(t, apiName, failure(t, err).Source)
		})
	}
	_, err := wire.New(vendor(), wire.Config{BaseURL: "ftp://canary"})
	require.ErrorContains(t, err, "THE_BASE_URL: is not an http or https URL; write it like https://models.example/v1")
}

// TestCheckFormat: of servers that are not the vendor's own nothing is known.
func TestCheckFormat(t *testing.T) {
	t.Parallel()
	list := domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(`{"type":"array"}`)}
	object := domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(`{"type":"object"}`)}
	own, err := wire.New(vendor(), wire.Config{})
	require.NoError(t, err)
	require.Equal(t, int64(16), own.MinOutputTokens())
	require.ErrorContains(t, own.CheckFormat(domain.LLMConfig{}, list, false), "response_format.schema: models.example takes only schemas of type object")
	require.NoError(t, own.CheckFormat(domain.LLMConfig{}, object, false))
	object.Name = "odd"
	require.ErrorContains(t, own.CheckFormat(domain.LLMConfig{}, object, false), "an odd name")
	require.ErrorContains(t, own.CheckFormat(domain.LLMConfig{BaseURL: "http://elsewhere"}, list, false), "base_url")
	other, err := wire.New(vendor(), wire.Config{BaseURL: "http://127.0.0.1:1"})
	require.NoError(t, err)
	require.NoError(t, other.CheckFormat(domain.LLMConfig{}, list, false))
	anybody := vendor()
	anybody.ObjectsOnly, anybody.MinOutputTokens, anybody.Options = false, 0, nil
	open, err := wire.New(anybody, wire.Config{})
	require.NoError(t, err)
	require.NoError(t, open.CheckFormat(domain.LLMConfig{}, list, false))
	require.Equal(t, int64(1), open.MinOutputTokens())
}

// TestVariables are what a user sets.
func TestVariables(t *testing.T) {
	t.Parallel()
	a := vendor()
	require.Equal(t, []string{"THE_BASE_URL", "THE_API_KEY", "THE_API_KEY_FILE"}, []string{a.BaseURLVariable(), a.KeyVariable(), a.KeyFileVariable()})
}
