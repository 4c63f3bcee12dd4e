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

// TestArgumentsHoldWholeCharacters: a half is replaced in what is JSON; all else is the model's text.
func TestArgumentsHoldWholeCharacters(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"a":"\ud99c half"}`: `{"a":"\uFFFD half"}`, `{"a":"\uDC00\ud800"}`: `{"a":"\uFFFD\uFFFD"}`, `{"\ud800\ud83d\ude00":1}`: `{"\uFFFD\ud83d\ude00":1}`,
		`{"a":"\\ud800 \ud83d\ude00 \u00e9 \n"}`: `{"a":"\\ud800 \ud83d\ude00 \u00e9 \n"}`, `{"a":"\ud800`: `{"a":"\ud800`, `\ud800`: `\ud800`, "": "",
	} {
		m := inference.AssistantMessage(nil, "", []domain.ToolCall{{Arguments: arguments}})
		require.Equal(t, want, m.ToolCalls[0].Arguments)
	}
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
	all := inference.Call{System: filler, OutputMode: domain.OutputNative, Format: domain.ResponseFormat{Schema: []byte(filler)}}
	all.Messages, all.Tools = []domain.Message{domain.UserMessage(filler), domain.UserMessage(filler)}, []domain.ToolSpec{{Schema: []byte(filler)}, {Name: filler}}
	require.Equal(t, 600+2*inference.Call{Messages: []domain.Message{{}}}.InputTokens(), all.InputTokens())
	all.OutputMode = domain.OutputInstruction
	require.Equal(t, 500+2*inference.Call{Messages: []domain.Message{{}}}.InputTokens(), all.InputTokens(), "it is in the system prompt")
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

// TestReckon: what a provider did not tell is estimated, and marked so.
func TestReckon(t *testing.T) {
	t.Parallel()
	call, said := inference.Call{System: strings.Repeat("x", 400)}, inference.PartialMessage("", strings.Repeat("x", 400))
	input, output := call.InputTokens(), inference.OutputTokens(said)
	require.Positive(t, output)
	require.Zero(t, inference.OutputTokens(domain.Message{Role: domain.RoleAssistant}))
	require.Equal(t, output, inference.OutputTokens(inference.PartialMessage(strings.Repeat("x", 400), "")))
	require.Positive(t, inference.OutputTokens(domain.Message{ToolCalls: []domain.ToolCall{{Name: "f"}}}))
	for name, test := range map[string]struct {
		told domain.Usage
		said domain.Message
		want domain.Usage
	}{
		"all was told":          {domain.Usage{InputTokens: 1, OutputTokens: 2}, said, domain.Usage{InputTokens: 1, OutputTokens: 2}},
		"nothing was told":      {domain.Usage{}, said, domain.Usage{InputTokens: input, OutputTokens: output, Estimated: true}},
		"only input was told":   {domain.Usage{InputTokens: 1}, said, domain.Usage{InputTokens: 1, OutputTokens: output, Estimated: true}},
		"only output was told":  {domain.Usage{OutputTokens: 2}, said, domain.Usage{InputTokens: input, OutputTokens: 2, Estimated: true}},
		"nothing was said":      {domain.Usage{InputTokens: 1}, domain.Message{}, domain.Usage{InputTokens: 1}},
		"estimated, at nothing": {domain.Usage{Estimated: true}, said, domain.Usage{Estimated: true}},
		"estimated in part":     {domain.Usage{OutputTokens: 2, Estimated: true}, said, domain.Usage{InputTokens: input, OutputTokens: 2, Estimated: true}},
	} {
		require.Equal(t, test.want, call.CompleteUsage(test.told, test.said), name)
	}
}
