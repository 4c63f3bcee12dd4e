// Package conformance holds adapters to what inference.Provider promises: its
// tests do, against a server on this machine that answers in an API's own form,
// also wrongly, late or not at all.
//
// The tests' main type is Case, which holds an API's bodies; each adapter's is in
// the file with its name. Their one rule: they ask the same of every adapter, so
// what one API has and another has not is a body that is there or not, never an
// expectation that differs.
//
// What is not in its tests serves those of the adapters: servers, recorded
// exchanges, and Attempt, which checks what is promised of every attempt, also of
// a provider without a server.
//
// Start reading at run_test.go, then case_test.go.
package conformance
