// Package openai speaks OpenAI's Responses API, streaming, to any server that
// has it.
//
// Its one rule: an answer counts only when the API says that the response is
// completed, or incomplete and why; what came before that is only shown. Requests are encoded with the official SDK's types, and
// answers are read here. What is not peculiar to this API is in package wire.
//
// # Without state
//
// Nothing is asked to be stored, and the conversation is sent whole each time.
// A model's reasoning comes encrypted and goes back as it came, right before
// the item that followed it; the ids of other items do not go back, since a
// server that stores nothing looks for them in vain. A reasoning item that it
// could not understand without having stored it is only shown.
//
// A domain.Message keeps an answer's parts and its calls apart. Where that
// loses the order of the items, or a message's phase, an empty reasoning part
// holds a mark of the place: see mark.
//
// # Caching
//
// The API caches prompts by itself. No prompt_cache_key is derived: by default
// the API routes by the beginning of the prompt, so that agents of one
// definition share what is cached of it, and a key made of the conversation's
// text would take that away, and change with each compaction. One that fits
// the traffic can be given among the options.
//
// Start reading at provider.go.
package openai
