// Package domain is what an agent execution is: its words, its rules and its
// wire forms. It knows nothing of Temporal, and does no I/O: workflows decide
// with it, activities act on its requests, and both meet only here.
//
// Its main type is [AgentState], the state of one agent as a value, in two
// layers: the session, which lives across executions, and the execution, from
// its beginning until the next begins. The transcript of a running agent is a
// [Log]; what the model sees of it is chosen by [CompileEdited].
//
// The one rule: state is a value, and every change is a function from one state
// and one fact to the next state. Times, in UTC, and ids are facts too, so they
// are arguments; nothing here reads a clock or a random source. Saved states
// and records outlive a build: [SchemaVersion] names their form.
//
// Start reading with agentstate.go, then execution.go, steps.go and stopping.go,
// which are the life of an execution in order; error.go has the one error type,
// and wire.go how a saved state looks. Package contract holds every name that is
// on the wire, conversation what the loop reckons of a transcript, hook what may
// be put into the loop, and progress what has happened and what it cost.
//
// Where the specification is silent:
//   - The messages of a step join the context in an act of their own
//     (WithMessages), so that a program may keep the transcript in a Log.
//   - "The step asked for tools" looks at the step in progress, else at the last
//     completed one, since the rule is evaluated after a step.
//   - An error without a kind is kept as internal. A text is UTF-8; other bytes
//     do not survive JSON.
//   - A signal of reason error that a hook asks for is the execution's own error.
//   - A model without a price costs nothing in sums; a limit of money is refused
//     for it.
package domain
