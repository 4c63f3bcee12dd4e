package openai_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/openai"
	"everstep/domain"
	"everstep/domain/enum"
	"everstep/testsuite/providers"
)

// TestRequestsFitTheSchema: what is sent is what OpenAI describes.
func TestRequestsFitTheSchema(t *testing.T) {
	t.Parallel()
	schema := providers.OpenAISchema(t, "CreateResponse", true)
	half := 0.5
	call := inference.Call{
		Config: domain.LLMConfig{Provider: openai.Name, Model: "gpt-5", Temperature: &half, TopP: &half, Options: domain.Metadata{
			"reasoning": []byte(`{"effort":"low","summary":"auto"}`), "text": []byte(`{"verbosity":"low"}`), "prompt_cache_key": []byte(`"k"`), "parallel_tool_calls": []byte("true")}},
		System: "be brief",
		Messages: []domain.Message{
			text(domain.RoleSystem, "x"), domain.UserMessage("hello"),
			{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartReasoning, Opaque: []byte(rs)}, {Type: domain.PartReasoning, Opaque: []byte(`{"type":"message","phase":"commentary"}`)},
				{Type: domain.PartText, Text: "x"}}, ToolCalls: []domain.ToolCall{{Name: "f", Arguments: "{"}, {Name: "f"}}},
			domain.ToolMessage(domain.ToolResult{Name: "f", Content: "1"}), domain.ToolMessage(domain.ToolResult{Name: "f"}),
			{Role: domain.RoleUser, Name: "ann", Parts: []domain.Part{{Type: domain.PartText, Text: "x"}, {Type: domain.PartImage, URL: "https://a/b.png"},
				{Type: domain.PartFile, MediaType: "application/pdf", Filename: "a.pdf", Data: []byte("x")}, {Type: domain.PartFile, URL: "https://a/b.pdf"}}},
			{Role: domain.RoleAssistant},
		},
		Tools:           []domain.ToolSpec{{Name: "f", Description: "d", Schema: []byte(`{"type":"object"}`)}},
		MaxOutputTokens: 16,
	}
	require.NoError(t, schema.Validate(sent(t, call)))
	for _, format := range []domain.ResponseFormat{{Type: domain.FormatJSON}, {Type: domain.FormatSchema, Schema: []byte(looseSchema)}, {Type: domain.FormatSchema, Name: "out", Schema: []byte(strictSchema)}} {
		for _, mode := range enum.Known[domain.OutputMode]() {
			for _, tools := range [][]domain.ToolSpec{nil, call.Tools} {
				formatted := told(mode, format, tools...)
				formatted.Messages, formatted.System = call.Messages, call.System
				require.NoError(t, schema.Validate(sent(t, formatted)), "%s of %s with %d tools", format.Type, mode, len(tools))
			}
		}
	}
	for name, spoil := range map[string]func(map[string]any){
		"an item of no kind":  func(b map[string]any) { b["input"] = append(b["input"].([]any), map[string]any{"type": "nonsense"}) },
		"a call without name": func(b map[string]any) { b["input"] = []any{map[string]any{"type": "function_call", "call_id": "a"}} },
		"a wrong include":     func(b map[string]any) { b["include"] = []any{"nonsense"} },
		"a tool not strict":   func(b map[string]any) { delete(b["tools"].([]any)[0].(map[string]any), "strict") },
	} {
		body := sent(t, call)
		spoil(body)
		require.Error(t, schema.Validate(body), "the schema cannot tell: %s", name)
	}
}

// encrypted is reasoning as the API wants it back.
var encrypted = regexp.MustCompile(`"encrypted_content":\s*"[^"]`)

// TestRecordedAnswersGoBack sends each recorded answer back as history: as
// OpenAI describes it, and with its reasoning as it came.
func TestRecordedAnswersGoBack(t *testing.T) {
	t.Parallel()
	schema := providers.OpenAISchema(t, "CreateResponse", true)
	forms := map[string]int{}
	for _, r := range providers.Recordings(t, "responses", true) {
		answer, failed := infer(t, providers.Serve(t, 200, nil, r.Response).URL, question())
		require.Nil(t, failed)
		recorded, err := json.Marshal(answer.Message)
		require.NoError(t, err)
		var message domain.Message
		require.NoError(t, json.Unmarshal(recorded, &message))
		call := question()
		call.Messages = append(call.Messages, message)
		for _, c := range message.ToolCalls {
			call.Messages = append(call.Messages, domain.ToolMessage(domain.ToolResult{CallID: c.ID, Name: c.Name, Content: "done"}))
		}
		call.Messages = append(call.Messages, domain.UserMessage("go on"))
		body := sentBytes(t, call)
		var decoded map[string]any
		require.NoError(t, json.Unmarshal(body, &decoded))
		// The schema is large and slow: a few of each form are enough.
		if form := formOf(decoded["input"].([]any)); forms[form] < 2 {
			forms[form]++
			require.NoError(t, schema.Validate(decoded), r.ID)
		}
		returned := 0
		for _, p := range answer.Message.Parts {
			var kept struct {
				Encrypted string `json:"encrypted_content"`
			}
			if json.Unmarshal(p.Opaque, &kept) == nil && kept.Encrypted != "" {
				returned++
				require.Contains(t, r.Response, kept.Encrypted)
				require.Contains(t, string(body), `"`+kept.Encrypted+`"`)
			}
		}
		require.Equal(t, encrypted.MatchString(r.Response), returned > 0, "%s: its reasoning goes back", r.ID)
	}
}

// formOf is the kinds of some items and the fields that they have.
func formOf(items []any) string {
	var form strings.Builder
	for _, item := range items {
		fmt.Fprintln(&form, item.(map[string]any)["type"], slices.Sorted(maps.Keys(item.(map[string]any))))
	}
	return form.String()
}
