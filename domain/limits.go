package domain

// Sizes, in bytes. The server refuses payloads of 2 MiB and messages of 4 MiB,
// each version in its own way, so these come first.
const (
	// MaxPayload bounds what one input, result, heartbeat or carry may take
	// when encoded.
	MaxPayload = 1_500_000
	// MaxMessage bounds one message: a prompt, or an answer of a model.
	MaxMessage = 1_000_000
	// MaxPrompt bounds a prompt when encoded, where markup and control
	// characters take more than their own length.
	MaxPrompt = 1_400_000
	// MaxResolved bounds a definition with the tools that a worker found for
	// it, so that it fits beside a message on one page.
	MaxResolved = 600_000
	// MaxSystemPrompt bounds a system prompt.
	MaxSystemPrompt = 256 << 10
	// MaxToolResult is what a model gets to read of a tool's result; longer
	// ones are cut to head and tail.
	MaxToolResult = 64 << 10
	// MaxToolOutput is the longest result that a tool may return at all.
	MaxToolOutput = 16 << 20
	// MaxInlineArguments is up to where a call's arguments travel by value.
	MaxInlineArguments = 4 << 10
	// MaxCarriedMessages bounds the messages that a run hands to the next one
	// in its input, where there is no storage.
	MaxCarriedMessages = 1_000_000
	// MaxCarriedState bounds the state that a run hands to the next one, where
	// the rest leaves it no more room.
	MaxCarriedState = 250_000
	// MaxPage bounds a page of a query, unless one entry alone is longer.
	MaxPage = 900_000
	// MaxReason bounds the text of a stop's reason.
	MaxReason = 4 << 10
	// MaxToolCalls bounds the calls of one step that are run.
	MaxToolCalls = 256
	// MaxRequestedCalls bounds the calls of one answer. One with more is no
	// answer but a model that has lost its way.
	MaxRequestedCalls = 1000
)
