package inference_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
)

func TestMessagesAreUTF8(t *testing.T) {
	t.Parallel()
	m := inference.AssistantMessage([]domain.Part{{Type: domain.PartReasoning, Text: "a\xff"}}, "b\xff", []domain.ToolCall{{ID: "\xff", Name: "\xff", Arguments: "\xff"}})
	require.Equal(t, domain.Message{
		Role:      domain.RoleAssistant,
		Parts:     []domain.Part{{Type: domain.PartReasoning, Text: "a\uFFFD"}, {Type: domain.PartText, Text: "b\uFFFD"}},
		ToolCalls: []domain.ToolCall{{ID: "\uFFFD", Name: "\uFFFD", Arguments: "\uFFFD"}},
	}, m)
	require.Empty(t, inference.AssistantMessage(nil, "", nil).Parts)
}

// TestPartsStayTheCallers: the parts that are given are not changed.
func TestPartsStayTheCallers(t *testing.T) {
	t.Parallel()
	parts := []domain.Part{{Type: domain.PartReasoning, Text: "a\xff"}}
	inference.AssistantMessage(parts, "", nil)
	require.Equal(t, "a\xff", parts[0].Text)
}

func TestInputTokensCountAllThatIsSent(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("x", 400)
	bare := inference.Call{}
	for name, call := range map[string]inference.Call{
		"system":      {System: filler},
		"message":     {Messages: []domain.Message{domain.UserMessage(filler)}},
		"arguments":   {Messages: []domain.Message{{ToolCalls: []domain.ToolCall{{Arguments: filler}}}}},
		"result":      {Messages: []domain.Message{domain.ToolMessage(domain.ToolResult{Content: filler})}},
		"schema":      {Tools: []domain.ToolSpec{{Schema: []byte(filler)}}},
		"description": {Tools: []domain.ToolSpec{{Description: filler}}},
		"format":      {OutputMode: domain.OutputNative, Format: domain.ResponseFormat{Schema: []byte(filler)}},
	} {
		require.GreaterOrEqual(t, call.InputTokens()-bare.InputTokens(), int64(100), name)
	}
}

// TestErrorsAreBounded: whatever a provider says, what is shown has a bound.
func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	r := inference.Rejection{Status: 400, Message: strings.Repeat("é\n", 100_000) + "\xff"}
	err := r.Error(domain.LLMConfig{Provider: "p", Model: "m"})
	require.Less(t, len(err.Message), 1000)
	require.NotContains(t, err.Message, "\n")
}
