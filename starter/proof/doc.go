// Package proof shows what Everstep promises on real workers and a real server.
//
// [Chaos] breaks workers: it runs scripted agents, kills the worker processes
// that serve them with SIGKILL at exact points of their work, and holds what
// comes out against undisturbed runs of the same agents. A [lane] is a task queue
// with one worker process, which is replaced when it is killed, and one agent at
// a time. The worker, a hidden command of the program ([ChaosWork]), reports each
// [contract.Boundary] over a unix socket and waits for the answer: to go on, or the
// kill. Those of hooks and of going on are marked by hooks of that worker, and
// [contract.Paused] is the controller's own: it pauses the agent and kills when
// nothing is under way. Half of the [Scripted] agents have a model and tools
// alone; the other half has all that an agent can have ([Whole]).
//
// [Crowd] shows what a rate limit does: many agents work on one quota of requests
// at the same time, against a model server that keeps the quota as providers do,
// over any minute and, in proportion, over any second. Its counts are reported,
// beside what the agents' statuses say meanwhile.
//
// One rule: what is measured is never asked what happened. The controller kills,
// never the worker itself, and believes only what it saw, what the ledger of
// effects holds and what the server recorded.
//
// Start reading with chaos.go; crowd.go stands by itself.
package proof
