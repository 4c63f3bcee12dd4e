// Package progress says what follows from how work ended: what an attempt cost and whether it counts, how a call ended and
// with which code, what an interruption keeps, and in which words people read of it.
//
// Its main type is a [Step], which grows by facts while the workflow's step goes on. Facts are the contract's own types with
// what is known of them beside; a reader of Temporal's history finds the same ones there.
//
// One rule: nothing here knows Temporal, a clock or a file. What is not known is left unknown and not guessed.
//
// Start reading at [Step.With] and [Judge].
package progress
