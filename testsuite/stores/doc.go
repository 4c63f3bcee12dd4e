// Package stores holds stores of executions that have ended to what they promise, whatever they keep them in: a
// directory, a bucket, or the Temporal server itself as far as its retention reaches.
//
// Reads is what is asked of each, and Keeps what is asked beside that of those that can be written. Their one rule: what
// is read equals what was recorded, or is an error that says what is gone.
package stores
