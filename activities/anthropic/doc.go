// Package anthropic speaks Anthropic's Messages API, streaming, to Anthropic's
// own server and to others that have it.
//
// Its one rule: an answer counts only if both a stop reason and message_stop were
// seen. The official SDK's parameter types write the request; the response is
// read here. Of 59 recorded answers the SDK's stream takes 3 in one piece for
// empty ones and passes over events without names in 3, without an error
// (TestSDKStreams in testsuite/providers), and it needs more processor time
// (starter/help/figures.md).
//
// All of an answer but text and tool calls is kept in reasoning parts, in its
// place and byte for byte: thinking with its signature, redacted thinking, and
// the blocks of tools that the server runs by itself. A part without the mark of
// this package is never sent, nor is thinking that was not signed.
//
// A long turn may end with the stop reason pause_turn: finish reason other, with
// that word, which is domain.WordPaused. A conversation that ends with such a message is
// sent as it is, and the server continues it, as often as the caller likes.
//
// Turns alternate: messages of one side that follow on each other become one, in
// which results of tools come first. A conversation that ends with the model's
// own words gets a turn that says to continue, since newer models refuse to go
// on with them. Names of users are not sent: the API has none.
//
// The ends of the tools, of the system prompt and of the last two turns of the
// user are marked for the prompt cache. The option cache_control replaces the
// marks, and null leaves them out. Where nobody gives a bound of the answer it is
// 8192 tokens, and the option thinking.budget_tokens comes on top; where a bound
// leaves no room for that, it shrinks, or thinking is left out. The option betas
// is sent as the header anthropic-beta.
package anthropic
