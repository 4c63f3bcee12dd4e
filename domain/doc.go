// Package domain is what an agent execution is: its words, its rules and its
// wire forms. It knows nothing of Temporal, and does no I/O: workflows decide
// with it, activities act on its requests, and both meet only here.
//
// Its main type is [AgentState], the state of one agent as a value. A state has
// two layers: the session, which lives across executions (who the agent is,
// what it knows, its model), and the execution, from the beginning of one until
// the next begins (steps, budget, signals, errors). The transcript of a running
// agent is a [Log]; what the model sees of it is chosen by [Compile].
//
// The one rule: state is a value, and every change is a function from one state
// and one fact to the next state. Times and ids are facts too, so they are
// arguments; nothing here reads a clock or a random source. What is recorded is
// a protocol: adding is free, changing is a migration.
//
// Start reading with agentstate.go, then execution.go, steps.go and stopping.go,
// which are the life of an execution in order; package contract holds
// every name that is on the wire, error.go the one error type, wire.go how a saved
// state looks.
//
// What the loop reckons of a transcript (tokens, windows, what is shown, when it
// is made shorter) is package conversation below. What may be put into the loop
// of an agent is in package hook; Trigger names its points. What has happened,
// and what it cost, is told by package progress. Guards and Compaction are what
// an agent can set of what is built in, Price what a model costs, LimitRules what
// a budget can limit, Edits what of the transcript is hidden from the model, and
// each Event a type of its own.
//
// Where the specification is silent:
//   - The messages of a step join the context in an act of their own
//     (WithMessages), so that a program may keep the transcript in a Log.
//   - Beginning an execution tags the user messages that wait at the end of the
//     default section as those of the execution.
//   - "The step asked for tools" looks at the step in progress, else at the last
//     completed one, since the rule is evaluated after a step.
//   - An error without a kind is kept as internal. A text is UTF-8; other bytes
//     do not survive JSON.
//   - The first error of an execution is the one that is kept as its own; later
//     ones stay visible in their signals. A signal of reason error that a hook
//     asks for is such an error.
//   - A model without a price costs nothing in sums; a limit of money is refused
//     for it.
package domain
