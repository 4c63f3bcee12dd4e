// Package gemini speaks Google's Gemini API, by streamGenerateContent.
//
// Its one rule: the model's content goes back to it as it came, with each
// signature on the part that had it, unless somebody has changed the message
// since. So it is written by the package itself, as the official SDK, of which
// the types of requests are used, need not encode what it decoded to the same
// bytes: kept.go brings an answer back into a request.
//
// Answers are read here. Of 61 recorded ones the SDK's stream fails on 4 in one
// piece and on 2 others, and it panics on candidates that are no list; of the rest
// it keeps neither the text nor the fields that it does not know (TestSDKStreams in
// testsuite/providers). It needs more processor time (starter/help/figures.md).
package gemini
