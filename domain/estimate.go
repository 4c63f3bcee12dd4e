package domain

// EstimateText is about how many tokens a text takes: a quarter of its bytes,
// rounded up, which is close for English prose and too high for most code. It
// bounds what is reserved before a provider has counted.
func EstimateText(text string) int64 { return (int64(len(text)) + 3) / 4 }

// messageTokens is what a message costs beside its content: role and separators.
const messageTokens = 4

// EstimateTokens is about how many tokens a message takes in a request.
func EstimateTokens(m Message) int64 {
	tokens := int64(messageTokens)
	for _, p := range m.Parts {
		tokens += EstimateText(p.Text) + int64(len(p.Data)+len(p.Opaque)+3)/4
	}
	for _, c := range m.ToolCalls {
		tokens += EstimateText(c.Name) + EstimateText(c.Arguments)
	}
	if m.ToolResult != nil {
		tokens += EstimateText(m.ToolResult.Content)
	}
	return tokens
}
