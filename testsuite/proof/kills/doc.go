// Package kills kills the workers of agents at exact points of the agents' work, and judges what comes of the agents.
//
// How a kill happens: agents run on a [runner], which is a task queue with one worker process (worker.go). Before the worker
// does the next thing, it tells the runner over a socket where it is, a [hit], and waits for the answer. The runner notes what
// it sees of each [run] (run.go). Where the run is at the point at which a kill is planned (points.go), the runner has its
// controller kill the worker instead of answering, and start the next one (everstep/starter/kill).
//
// How a run is judged: what it left, read through the client, from histories and from the ledgers that tools and hooks keep
// (play.go), is compared by one function, [judge], with what the same agent left on a runner that kills nobody. The status of
// the agent is asked for meanwhile and compared too (status.go).
//
// How a figure comes about: each judged run is a [verdict]; rows.go adds them up.
//
// There are three kinds of agents, each killed and judged in the same way: those of scripted.go at each boundary of their
// steps, as often as the plan has it; those of calls.go once, over a call of a tool; those of tree.go once, over a tree of agents.
//
// The one rule: what is measured is never asked what happened. The runner believes what it saw, what the ledgers hold and
// what the server recorded.
//
// Start reading with kills.go.
package kills
