// Package workflows is the deterministic half of Everstep: it decides, and
// activities act. Its workflow agent.Execute is one agent; agent.Scheduled is one
// run of a schedule, which begins an execution and waits for it.
//
// Its one rule: what it reads comes from its input, its history or its own
// code, never from the worker's memory, a clock or a random source. Hooks are
// the worker's code: an execution records which it uses, by name and version,
// and its tasks fail on a worker that has others, until one comes that has them.
//
// A session is made of parts, each of which alone writes what it holds and is named where
// it is used: the agent's state, the configuration in force, the mailbox, the transcript, the
// budget, the policy of attempts, the records, and the run, which hands over to the next one.
// What people ask comes through commands and answers. Whoever wants to start something asks the
// mailbox for an admission.
//
// Start reading at execute.go; loop.go is one execution, inference.go and tools.go
// are the two halves of a step. A call of a tool is one value: batch.go says what it holds,
// call.go is its life and callattempt.go how workers make it. Calls go down through the
// files, in the order of parts_test.go.
package workflows
