package conversation

import (
	"cmp"

	"everstep/domain"
	"everstep/domain/contract"
)

// Input is about how many tokens the next inference will read: its texts'
// estimate, and what the provider counted beyond that for the one before.
func (c Conversation) Input(r *contract.Resolved) int64 {
	return max(c.rawInput(r)+c.excess, fixedTokens(r))
}

// rawInput estimates what the next inference will read by its texts alone.
func (c Conversation) rawInput(r *contract.Resolved) int64 {
	return c.Visible + c.Traces + fixedTokens(r)
}

// fixedTokens estimates what every request has beside the conversation.
func fixedTokens(r *contract.Resolved) int64 {
	format := r.Definition.Format
	tokens := domain.EstimateText(r.Definition.SystemPrompt) + domain.EstimateText(string(format.Schema))
	if format.Type == domain.FormatJSON || format.Type == domain.FormatSchema {
		// What telling of it takes beside the schema.
		tokens += 60
	}
	for _, tool := range r.Tools {
		tokens += domain.EstimateText(tool.Name) + domain.EstimateText(tool.Description) + domain.EstimateText(string(tool.Schema))
	}
	return tokens
}

// WithInference returns the conversation after one more completed inference. What
// the provider says it has read corrects the estimates.
func (c Conversation) WithInference(usage domain.Usage, r *contract.Resolved) Conversation {
	c.inferences++
	if usage.Estimated {
		return c
	}
	c.excess = usage.InputTokens - c.rawInput(r)
	if compiler := c.compiler.OrDefault(); compiler == domain.WholeConversation || compiler == domain.CurrentTrace {
		// Only others show less than is counted here.
		c.excess = max(c.excess, 0)
	}
	return c
}

// WithOtherModel forgets what the provider of the model before counted or refused.
func (c Conversation) WithOtherModel() Conversation {
	c.excess, c.window = 0, 0
	return c
}

// shrunk lets the excess shrink as the conversation did.
func (c Conversation) shrunk(before int64, r *contract.Resolved) Conversation {
	if after := c.rawInput(r); after < before {
		c.excess = c.excess * max(after, 0) / before
	}
	return c
}

// own turns tokens as a provider counts them into estimated ones.
func (c Conversation) own(tokens int64) int64 { return max(tokens-c.excess, 0) }

// Window is the model's, as far as it is known; zero is unknown.
func (c Conversation) Window(r *contract.Resolved) int64 {
	window := cmp.Or(r.Definition.Model.ContextWindow, r.ContextWindow)
	if c.window > 0 && (window == 0 || c.window < window) {
		window = c.window
	}
	return window
}

// share is a percentage of the window.
func (c Conversation) share(percent int, r *contract.Resolved) int64 {
	return c.Window(r) * int64(percent) / 100
}
