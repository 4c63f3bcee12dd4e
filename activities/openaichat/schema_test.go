package openaichat_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/domain/enum"
	"everstep/testsuite/providers"
)

// TestRequestsFitTheSchema: what is sent is what OpenAI describes.
func TestRequestsFitTheSchema(t *testing.T) {
	t.Parallel()
	schema := providers.OpenAISchema(t, "CreateChatCompletionRequest", false)
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
		for _, mode := range enum.Known[domain.OutputMode]() {
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
