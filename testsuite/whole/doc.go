// Package whole holds the tests of Everstep as a whole: the commands, stops,
// failures of providers, crashes, sessions and rate limits on a real server, the
// recorded runs where EVERSTEP_DATA is set, and the benchmarks. They take
// minutes.
//
//	go test -timeout 20m ./testsuite/whole
//
// What the names of its files begin with says what they are of. The server is
// Temporal's dev server, which is downloaded unless EVERSTEP_TEMPORAL names one.
package whole
