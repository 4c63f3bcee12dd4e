package domain

// Sizes, in bytes. The server refuses payloads of 2 MiB and messages of 4 MiB,
// each version in its own way, so these come first.
const (
	// MaxPayload bounds what one input, result, heartbeat or carry may take
	// when encoded.
	MaxPayload = 1_500_000
	// MaxMessage bounds one message: a prompt, or an answer of a model.
	MaxMessage = 1_000_000
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
	// MaxPage bounds a page of a query, unless one entry alone is longer.
	MaxPage = 900_000
	// MaxReason bounds the text of a stop's reason.
	MaxReason = 4 << 10
	// MaxToolCalls bounds the calls of one step that are run.
	MaxToolCalls = 256
)
