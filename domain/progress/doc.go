// Package progress is the one account of what happens in an execution: what an
// attempt cost and whether it counts, how a call ended and with which code, what
// an interruption keeps, and in which words people read of it.
//
// Its main types are values that grow by facts: a [Step], which the workflow has
// grow while the step goes on, and an [Execution], which readers of a history
// have grow from what is recorded. Facts are the contract's own types with what
// history says of them beside. A [Retelling] tells of a run that has ended what it holds itself, where that
// follows from its facts alone.
//
// One rule: nothing here knows Temporal, a clock or a file. What a history cannot
// tell is left unknown and not guessed.
//
// Start reading at [Step.With] and [Judge].
package progress
