// Package anthropic speaks Anthropic's Messages API, streaming, to Anthropic's
// own server and to others that have it.
//
// Its one rule: an answer counts only if both a stop reason and message_stop were
// seen. The official SDK's parameter types write the request; the response is
// read here.
//
// # What is kept of an answer
//
// Text and tool calls are those of the message. All else that the API wants
// back is kept in reasoning parts, in its place and byte for byte: thinking
// with its signature, redacted thinking, and the blocks of tools that the
// server runs by itself. A part without the mark of this package is never sent,
// nor is thinking that was not signed.
//
// # A turn that pauses
//
// The server may end a long turn with the stop reason pause_turn. Infer then
// returns what there is: finish reason other, with the word pause_turn, which is
// Paused. A conversation that ends with such a message is sent as it is, and the
// server continues it, as often as the caller likes.
//
// # What is sent
//
// Turns alternate: messages of one side that follow on each other become one, in
// which results of tools come first. A conversation that ends with the model's
// own words gets a turn that says to continue, since newer models refuse to go
// on with them. Names of users are not sent: the API has none.
//
// At most four places are marked for the prompt cache: the last tool, the system
// prompt, and the ends of the last two turns of the user. The option
// cache_control replaces all of them, and null leaves them out.
//
// The API wants a bound of the answer; where nobody gives one it is 8192
// tokens, and the option thinking.budget_tokens comes on top. Where a bound
// leaves no room for that budget, the budget shrinks, or thinking is left out.
// The option betas is sent as the header anthropic-beta.
package anthropic
