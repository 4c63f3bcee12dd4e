package openaichat_test

import (
	"encoding/json"
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

func TestResponseFormat(t *testing.T) {
	t.Parallel()
	f := domain.ToolSpec{Name: "f", Schema: []byte(looseSchema)}
	strict := domain.ResponseFormat{Type: domain.FormatSchema, Name: "out", Schema: []byte(strictSchema)}
	loose := domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(looseSchema)}
	object := domain.ResponseFormat{Type: domain.FormatJSON}
	for name, test := range map[string]struct {
		call                 inference.Call
		format, choice, tool string
	}{
		"text":                 {call: told("", domain.ResponseFormat{})},
		"native, strict":       {call: told(domain.OutputNative, strict), format: `{"type":"json_schema","json_schema":{"name":"out","strict":true,"schema":` + strictSchema + `}}`},
		"native, not strict":   {call: told(domain.OutputNative, loose, f), format: `{"type":"json_schema","json_schema":{"name":"answer","strict":false,"schema":` + looseSchema + `}}`},
		"native, any object":   {call: told(domain.OutputNative, object), format: `{"type":"json_object"}`},
		"tool alone":           {call: told(domain.OutputTool, strict), choice: `{"type":"function","function":{"name":"out"}}`, tool: `"strict":true`},
		"tool with others":     {call: told(domain.OutputTool, loose, f), choice: `"required"`, tool: `"strict":false`},
		"tool, any object":     {call: told(domain.OutputTool, object), choice: `{"type":"function","function":{"name":"final_answer"}}`, tool: `"strict":false`},
		"instruction":          {call: told(domain.OutputInstruction, strict, f)},
		"instruction, no tool": {call: told(domain.OutputInstruction, object)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := sent(t, test.call)
			same := func(want, field string) {
				if want == "" {
					require.NotContains(t, body, field)
					return
				}
				got, err := json.Marshal(body[field])
				require.NoError(t, err)
				require.JSONEq(t, want, string(got))
			}
			same(test.format, "response_format")
			same(test.choice, "tool_choice")
			tools, _ := body["tools"].([]any)
			require.Len(t, tools, len(test.call.Tools))
			if test.tool != "" {
				own, err := json.Marshal(tools[len(tools)-1])
				require.NoError(t, err)
				require.Contains(t, string(own), test.tool)
				require.Contains(t, string(own), `"name":"`+test.call.OutputTool+`"`)
			}
		})
	}
}

func TestCheckFormat(t *testing.T) {
	t.Parallel()
	own, err := wire.New(openaichat.Dialects()[0].API(), wire.Config{Key: wire.FixedKey("sk-test")})
	require.NoError(t, err)
	other, err := wire.New(openaichat.Dialects()[0].API(), wire.Config{BaseURL: "http://localhost:1/v1"})
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
