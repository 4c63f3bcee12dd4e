// Package chaos proves Everstep's promises by breaking workers: it runs
// scripted agents, kills the worker processes that serve them with SIGKILL at
// exact points of their work, and holds what comes out against undisturbed runs
// of the same agents.
//
// [Run] is the place to start reading. A [lane] is a task queue with one worker
// process, which is replaced when it is killed, and one agent at a time. The
// worker, a hidden command of the program ([Work]), reports each
// [domain.Boundary] over a unix socket and waits for the answer: to go on, or
// the kill. Those of hooks and of going on are marked by hooks of that worker,
// and [domain.Paused] is the controller's own: it pauses the agent and
// kills when nothing is under way.
//
// Half of the [Scripted] agents have a model and tools alone; the other half has
// all that an agent can have ([Whole]).
//
// One rule: the controller kills, never the worker itself, and the controller
// believes only what it saw, what the ledger of effects holds and what the
// server recorded.
package chaos
