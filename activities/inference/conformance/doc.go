// Package conformance tests that a provider keeps what inference.Provider
// promises: against a server on this machine that answers in the API's own
// form, also wrongly, late or not at all.
//
// Its main type is Case, which holds an API's bodies. Its one rule: it asks the
// same of every provider, so what one API has and another has not is a body that
// is there or not, never an expectation that differs.
//
// Start reading at case.go; run.go names the tests. Floods is apart, since it
// measures memory. A provider without a server is tested attempt by attempt,
// with Attempt.
package conformance
