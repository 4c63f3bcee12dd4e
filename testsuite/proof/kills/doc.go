// Package proof shows what Everstep promises on real workers and a real server.
//
// [Chaos] runs scripted agents, kills the worker processes that serve them with
// SIGKILL at exact points of their work, and holds what comes out against
// undisturbed runs. A [lane] is a task queue with one worker process, replaced when
// it is killed, and one agent at a time. The worker ([Work]) reports each
// [contract.Boundary] over a unix socket and waits for the answer: to go on, or the
// kill. Half of the [Scripted] agents have all that an agent can have ([Whole]).
//
// [Tools] and [Trees] aim the kills: at the calls of tools, and at agents that start others.
//
// [Crowd] shows what a rate limit does: many agents work on one quota of requests at
// the same time, against a model server that keeps the quota as providers do.
//
// [Load] measures what idle sessions cost, and the turns of a long one.
//
// One rule: what is measured is never asked what happened. The controller believes
// only what it saw, what the ledger of effects holds and what the server recorded.
//
// Start reading with chaos.go; crowd.go and load.go stand by themselves.
package kills
