// Package history reads raw events of agents' workflows: what their accounts do not tell, or cannot. It is the only place that knows
// Temporal's events.
//
// Its main type is [Reader], which downloads a run or waits for its end; the rest are functions of the events of a run. Its one
// rule: nothing that a history holds makes it fail. What cannot be read is absent, and the rest is told all the same. Errors are
// the server's.
//
// Start reading at [Reader.Events] and at [Inferences].
package history
