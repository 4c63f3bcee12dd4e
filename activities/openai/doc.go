// Package openai speaks OpenAI's Responses API, streaming, to any server that
// has it.
//
// Its one rule: an answer counts only when the API says that the response is
// completed, or incomplete and why; what came before that is only shown. Requests
// are encoded with the official SDK's types, and answers are read here. Of 97
// recorded answers the SDK's stream takes 19 in one piece for empty ones, without
// an error (TestSDKStreams in testsuite/providers). It gives the others as they
// came, for more processor time (starter/help/figures.md).
//
// Nothing is asked to be stored, and the conversation is sent whole each time.
// A model's reasoning comes encrypted and goes back as it came, right before
// the item that followed it; the ids of other items do not go back, since a
// server that stores nothing looks for them in vain. Where a message, which keeps
// parts and calls apart, loses the order of the items or a phase, an empty
// reasoning part holds a mark of the place: see mark.
//
// The API caches prompts by itself, by their beginning. No prompt_cache_key is
// derived, as that would keep agents of one definition from sharing; one that
// fits the traffic can be given among the options.
package openai
