// Package workflows is the deterministic half of Everstep: it decides, and
// activities act.
//
// Its one workflow, Execute, is one agent. It holds the agent's state and
// transcript, runs the loop of inference and tools step by step, reserves
// budgets before they are spent, takes stops, answers queries, and goes on in a
// new run when its history has grown long, also in the middle of an execution.
//
// Its one rule: what it reads comes from its input, its history or its own
// code, never from the worker's memory, a clock or a random source.
//
// Start reading at Execute in execute.go, which reads as a table of contents;
// loop.go is one execution, step.go one step of it.
package workflows
