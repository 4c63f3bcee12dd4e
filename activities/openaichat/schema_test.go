package openaichat_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/openaichat"
	"everstep/domain"
)

// requestSchema is OpenAI's own description of a request.
func requestSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	data := os.Getenv("EVERSTEP_DATA")
	if data == "" {
		t.Skip("EVERSTEP_DATA is not set: requests are not checked against OpenAI's schema")
	}
	file, err := os.Open(filepath.Join(data, "openai-openapi.json.gz"))
	require.NoError(t, err)
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	text, err := io.ReadAll(unzipped)
	require.NoError(t, err)
	var api struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(string(text), "#/components/schemas/", "#/$defs/")), &api))
	needed := map[string]json.RawMessage{}
	need(needed, api.Components.Schemas, "CreateChatCompletionRequest")
	whole, err := json.Marshal(map[string]any{"$ref": "#/$defs/CreateChatCompletionRequest", "$defs": needed})
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(whole, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	return resolved
}

var reference = regexp.MustCompile(`"#/\$defs/([^"]+)"`)

// need collects a schema and those that it refers to.
func need(into, from map[string]json.RawMessage, name string) {
	if into[name] != nil {
		return
	}
	into[name] = from[name]
	for _, found := range reference.FindAllSubmatch(from[name], -1) {
		need(into, from, string(found[1]))
	}
}

// TestRequestsFitTheSchema: what is sent is what OpenAI describes.
func TestRequestsFitTheSchema(t *testing.T) {
	t.Parallel()
	schema := requestSchema(t)
	half := 0.5
	call := inference.Call{
		Config: domain.LLMConfig{Provider: openaichat.Name, Model: "gpt-5", Temperature: &half, TopP: &half},
		System: "be brief",
		Messages: []domain.Message{
			domain.UserMessage("hello"),
			{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "x"}}, ToolCalls: []domain.ToolCall{{Name: "f", Arguments: "{"}, {Name: "f"}}},
			domain.ToolMessage(domain.ToolResult{Name: "f", Content: "1"}), domain.ToolMessage(domain.ToolResult{Name: "f"}),
			{Role: domain.RoleUser, Name: "ann", Parts: []domain.Part{{Type: domain.PartText, Text: "x"}, {Type: domain.PartImage, URL: "https://a/b.png"},
				{Type: domain.PartAudio, MediaType: "audio/wav", Data: []byte("x")}, {Type: domain.PartFile, MediaType: "application/pdf", Filename: "a.pdf", Data: []byte("x")}}},
			{Role: domain.RoleAssistant},
		},
		Tools:           []domain.ToolSpec{{Name: "f", Description: "d", Schema: []byte(`{"type":"object"}`)}},
		MaxOutputTokens: 5,
	}
	require.NoError(t, schema.Validate(sent(t, call)))
	for _, format := range []domain.ResponseFormat{{Type: domain.FormatJSON}, {Type: domain.FormatSchema, Schema: []byte(looseSchema)}, {Type: domain.FormatSchema, Name: "out", Schema: []byte(strictSchema)}} {
		for _, mode := range domain.OutputModes() {
			for _, tools := range [][]domain.ToolSpec{nil, call.Tools} {
				formatted := told(mode, format, tools...)
				formatted.Messages = call.Messages
				require.NoError(t, schema.Validate(sent(t, formatted)), "%s of %s with %d tools", format.Type, mode, len(tools))
			}
		}
	}
	body := sent(t, call)
	delete(body, "messages")
	require.Error(t, schema.Validate(body), "the schema can tell")
}
