// Package hook is what can be put into the loop of an agent: functions that run
// at its triggers, see what is at hand, and may change it.
//
// Its main type is Hook, made by a function for each trigger: BeforeToolUse,
// AfterStep and so on. Its one rule: a hook is quick, for it runs inside the
// workflow, whose task fails after a second. What waits or does I/O is made with
// IO, which runs as an activity, once, with its own time-out and tries.
//
// What a hook has made of its context is recorded as a contract.HookReply. A
// replay takes that and runs no hook, so a hook may read a clock or a variable,
// and what it does may change with the program. Where a worker dies before the
// reply is recorded, the hook runs again.
//
// Start reading at Context.
package hook
