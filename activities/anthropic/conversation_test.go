package anthropic_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/activities/anthropic"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// someText is a text that may lack content.
func someText(t *rapid.T) string {
	return rapid.StringOf(rapid.SampledFrom([]rune(" \na<é\u2028"))).Draw(t, "text")
}

// someParts are parts of a model's message, of this provider's and others'
// making. It returns the signatures that must be sent, in order.
func someParts(t *rapid.T, serial *int) (parts []domain.Part, signatures []string) {
	for range rapid.IntRange(0, 4).Draw(t, "parts") {
		*serial++
		signature := fmt.Sprintf("s%d+/=<", *serial)
		quoted, _ := json.Marshal(signature)
		switch rapid.IntRange(0, 4).Draw(t, "part") {
		case 0:
			parts = append(parts, domain.Part{Type: domain.PartText, Text: someText(t)})
		case 1:
			parts = append(parts, domain.Part{Type: domain.PartReasoning, Text: someText(t), Signature: signature, Opaque: []byte(`{"anthropic_thinking":true}`)})
			signatures = append(signatures, signature)
		case 2:
			parts = append(parts, domain.Part{Type: domain.PartReasoning, Opaque: []byte(`{"anthropic_block":{"type":"redacted_thinking","data":` + string(quoted) + `}}`)})
			signatures = append(signatures, signature)
		case 3:
			parts = append(parts, domain.Part{Type: domain.PartReasoning, Text: "foreign", Signature: "foreign", Opaque: []byte(rapid.SampledFrom([]string{"", "[]", "7", `{"type":"reasoning"}`}).Draw(t, "opaque"))})
		case 4:
			parts = append(parts, domain.Part{Type: domain.PartReasoning, Opaque: []byte(fmt.Sprintf(`{"anthropic_call":%d}`, rapid.IntRange(-1, 9).Draw(t, "call")))})
		}
	}
	return parts, signatures
}

// someConversation is one as the loop has them: each call has one result,
// before the model speaks again.
func someConversation(t *rapid.T) (messages []domain.Message, signatures, results []string) {
	serial := 0
	id := rapid.SampledFrom([]string{"", "a", "b", "call_1_0", "no spaces", "toolu_é"})
	words := rapid.SampledFrom([]domain.Role{domain.RoleUser, domain.RoleSystem, domain.RoleDeveloper})
	messages = append(messages, domain.UserMessage("begin"))
	for range rapid.IntRange(0, 6).Draw(t, "messages") {
		if rapid.Bool().Draw(t, "user") {
			messages = append(messages, domain.Message{Role: words.Draw(t, "role"), Parts: []domain.Part{{Type: domain.PartText, Text: someText(t)}}})
			continue
		}
		m := domain.Message{Role: domain.RoleAssistant}
		parts, more := someParts(t, &serial)
		m.Parts, signatures = parts, append(signatures, more...)
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			m.ToolCalls = append(m.ToolCalls, domain.ToolCall{
				ID: id.Draw(t, "id"), Name: rapid.SampledFrom([]string{"", "f", "a.b", strings.Repeat("é", 200)}).Draw(t, "name"),
				Arguments: rapid.SampledFrom([]string{"", "{}", "[1]", `{"a":`, ` {"a": "<"} `, "null"}).Draw(t, "arguments"),
			})
		}
		messages = append(messages, m)
		for _, c := range m.ToolCalls {
			serial++
			results = append(results, fmt.Sprint("result ", serial))
			messages = append(messages, domain.ToolMessage(domain.ToolResult{CallID: c.ID, Name: c.Name, Content: results[len(results)-1], IsError: rapid.Bool().Draw(t, "failed")}))
		}
	}
	return messages, signatures, results
}

// A sentBlock is a content block of a request, as far as the API's rules for
// conversations look at it.
type sentBlock struct {
	Type, Text, ID, Name, Signature, Data string
	ToolUseID                             string `json:"tool_use_id"`
	Input                                 json.RawMessage
	Content                               []sentBlock
	Cache                                 json.RawMessage `json:"cache_control"`
}

var acceptedName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

// TestConversations: whatever was said, the request keeps the API's rules.
func TestConversations(t *testing.T) {
	t.Parallel()
	var body []byte
	url := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, whole)
	})
	p, err := wire.New(anthropic.API(), wire.Config{BaseURL: url})
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		call := question()
		call.System = someText(t)
		var signatures, results []string
		call.Messages, signatures, results = someConversation(t)
		if rapid.Bool().Draw(t, "tools") {
			call.Tools = []domain.ToolSpec{{Name: "f"}}
		}
		recorded, err := json.Marshal(call.Messages)
		require.NoError(t, err)
		_, err = p.Infer(t.Context(), call, func(inference.Delta) {})
		require.NoError(t, err)
		first := string(body)
		checkRequest(t, body, signatures, results)
		_, err = p.Infer(t.Context(), call, func(inference.Delta) {})
		require.NoError(t, err)
		require.Equal(t, first, string(body), "the same conversation is the same request")
		after, err := json.Marshal(call.Messages)
		require.NoError(t, err)
		require.Equal(t, string(recorded), string(after), "what is recorded stays as it is")
	})
}

func checkRequest(t *rapid.T, body []byte, signatures, results []string) {
	var request struct {
		System, Tools []sentBlock
		Messages      []struct {
			Role    string
			Content []sentBlock
		}
	}
	require.NoError(t, json.Unmarshal(body, &request))
	marks := strings.Count(string(body), `"cache_control":`)
	require.True(t, marks >= 1 && marks <= 4, "%d marks", marks)
	var open, gotSignatures, gotResults []string
	seen := map[string]bool{}
	require.Equal(t, "user", request.Messages[len(request.Messages)-1].Role)
	for i, m := range request.Messages {
		require.Equal(t, []string{"user", "assistant"}[i%2], m.Role)
		require.NotEmpty(t, m.Content)
		if m.Role == "user" {
			for k := range open {
				require.Equal(t, "tool_result", m.Content[k].Type, "results come first")
				require.Contains(t, open, m.Content[k].ToolUseID)
				gotResults = append(gotResults, m.Content[k].Content[0].Text)
			}
		}
		answered := len(open)
		open = nil
		for k, b := range m.Content {
			switch b.Type {
			case "text":
				require.NotEmpty(t, strings.TrimSpace(b.Text))
			case "tool_result":
				require.Less(t, k, answered, "a result without its call")
			case "thinking":
				gotSignatures = append(gotSignatures, b.Signature)
			case "redacted_thinking":
				gotSignatures = append(gotSignatures, b.Data)
			case "tool_use":
				require.Regexp(t, acceptedName, b.ID)
				require.Regexp(t, acceptedName, b.Name)
				require.False(t, seen[b.ID], "id %s is sent twice", b.ID)
				seen[b.ID] = true
				open = append(open, b.ID)
				require.Equal(t, byte('{'), b.Input[0])
				require.NotEmpty(t, request.Tools)
			default:
				t.Fatalf("a block of type %q", b.Type)
			}
		}
	}
	require.Equal(t, signatures, gotSignatures)
	require.Equal(t, results, gotResults, "each result stands where its call stands")
}
