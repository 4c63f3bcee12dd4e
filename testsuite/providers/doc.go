// Package providers holds adapters to what inference.Provider promises: its
// tests do, against a server on this machine that answers in an API's own form,
// also wrongly, late or not at all.
//
// Their one rule: they ask the same of every adapter, so what one API has and
// another has not is a body that is there or not in its Case, never an
// expectation that differs.
//
// What only one API has is kept in testdata: bodies with what is read in each, and
// calls with the request of each. What is not in its tests serves those of the
// adapters. Start reading at run_test.go, then case_test.go and kept_test.go.
package providers
