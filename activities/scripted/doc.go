// Package scripted is a provider that plays an answer for each inference from
// a file, for tests and demonstrations.
//
// Its main type is Provider. Its one rule: a script has no state. Which entry
// answers, and which of its failures is met, follows from the request alone,
// so any worker can play any part of it.
//
// A file has turns, one for each inference; to go past the last is an error. It
// may have summaries, one for each inference that sums up; past the last a fixed
// text stands in. Either has any of
//
//	text           the answer, a Go template
//	json           in place of text: a value whose texts are templates; it is
//	               the answer in JSON, however the model was told of the format
//	reasoning      what it thought
//	tool_calls     a list of {name, arguments}; arguments given as a text are
//	               sent as they are
//	finish_reason  what it ended with; stop or tool_calls unless given
//	usage          {input_tokens, output_tokens, …}; estimated unless given
//	delay          the time to the end of the answer, streamed evenly
//	failures       what the first attempts meet, one each: {status, retry_after,
//	               message, code} or {cut_after}, in characters
//
// Templates have result and results of a tool by its name, prompt, and functions
// on texts and lists.
//
// Start reading at script.go, which is the file's form, and quoting.go, which is
// what templates can do.
package scripted
