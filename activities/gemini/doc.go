// Package gemini speaks Google's Gemini API, by streamGenerateContent.
//
// Its one rule: the model's content goes back to it as it came, with each
// signature on the part that had it, unless somebody has changed the message
// since. So it is written by the package itself, as the official SDK, of which
// the types of requests are used, need not encode what it decoded to the same
// bytes: kept.go brings an answer back into a request.
package gemini
