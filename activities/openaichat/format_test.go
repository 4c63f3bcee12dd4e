package openaichat_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/testsuite/providers"
)

const (
	strictSchema = `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}`
	looseSchema  = `{"type":"object","properties":{"x":{"type":"integer"}}}`
)

// told is a question whose answer has a format, told in a mode.
func told(mode domain.OutputMode, format domain.ResponseFormat, tools ...domain.ToolSpec) inference.Call {
	return providers.Told(question(), mode, format, tools...)
}

func TestCheckFormat(t *testing.T) {
	t.Parallel()
	own, err := wire.New(openaichat.APIs()[0], wire.Config{Key: wire.FixedKey("sk-test")})
	require.NoError(t, err)
	other, err := wire.New(openaichat.APIs()[0], wire.Config{BaseURL: "http://localhost:1/v1"})
	require.NoError(t, err)
	list := domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(`{"type":"array"}`)}
	require.ErrorContains(t, own.CheckFormat(domain.LLMConfig{}, list, false), "response_format.schema: api.openai.com takes only schemas of type object")
	require.NoError(t, other.CheckFormat(domain.LLMConfig{}, list, false))
	require.NoError(t, own.CheckFormat(domain.LLMConfig{}, domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(looseSchema)}, false))
	require.NoError(t, own.CheckFormat(domain.LLMConfig{}, domain.ResponseFormat{Type: domain.FormatJSON}, false))
	twice := domain.LLMConfig{Options: domain.Metadata{"response_format": []byte(`{"type":"text"}`)}}
	require.ErrorContains(t, other.CheckFormat(twice, list, false), "options: response_format is given beside the definition's")
	require.ErrorContains(t, other.CheckFormat(domain.LLMConfig{BaseURL: "http://elsewhere"}, list, false), "base_url")
}
