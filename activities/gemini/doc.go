// Package gemini speaks Google's Gemini API, by streamGenerateContent.
//
// Its one rule: the model's content goes back to it
// as it came, with each signature on the part that had it, unless somebody has
// changed the message since.
//
// Of the official SDK it uses the types of requests. Contents of the model are
// written by the package itself: the SDK decodes signatures and arguments, and
// what it encodes again need not be the same bytes.
//
// Start reading at provider.go; request.go writes the request, assembly.go
// reads the answer, kept.go brings one back into the other.
package gemini
