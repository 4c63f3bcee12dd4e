// Package hook is what can be put into the loop of an agent: functions that run
// at its triggers, see what is at hand, and may change it.
//
// Its main type is Hook, made by a function for each trigger: BeforeToolUse,
// AfterStep and so on. Its one rule: a hook is deterministic. It is run again
// whenever a worker replays the execution, and has to do the same then: it
// reads no clock, no randomness, no environment, no file and no variable that
// changes, and never waits. What needs those is made with IO, which runs as an
// activity, once, with its own time-out and tries.
//
// An execution records the names and versions of its hooks. Whoever changes
// what a hook does gives it another Version, and keeps the old one registered
// for as long as executions use it.
//
// Start reading at Context.
package hook
