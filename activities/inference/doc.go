// Package inference is what CallModel and the providers say to each other: a
// Call goes in, an Answer comes out, Deltas tell what has arrived meanwhile.
//
// Its main type is Provider. Its one rule: an answer that may be incomplete is
// an error, and an error says whether the attempt may have been billed.
// Providers never try again by themselves.
//
// Start reading at Provider; Rejection is how a provider's refusals become errors.
package inference
