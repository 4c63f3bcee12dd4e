// Package modelfacts says what is known of models beside what an API tells:
// prices, context windows, longest answers, and what they can do.
//
// Its main type is Table: the figures that Everstep is built with, and those of
// a user's file, which come first. Its one rule: a price is never guessed. A
// model that neither has is unknown, and so is one of a vendor's names on
// another server than the vendor's own; a budget of money is refused then.
//
// The figures that are built in stand in builtin.json, with the date and the
// sources of each vendor's. Prices change: whoever depends on them gives a file
// of their own. A file is YAML or JSON, in dollars for a million tokens:
//
//	models:
//	  openai/gpt-5-mini:
//	    input: 0.25
//	    output: 2
//	    cache_read: 0.025
//	  openai-chat/llama-4-70b:
//	    input: 0          # free, which has to be said
//	    output: 0
//	    context_window: 131072
//	    max_output_tokens: 8192
//	  gemini/gemini-2.5-pro:
//	    input: 1.25
//	    output: 10
//	    long: {above_tokens: 200000, input: 2.50, output: 15}
//
// Start reading at Table.
package modelfacts
