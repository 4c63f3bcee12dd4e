// Package history reads the histories of agents' workflows. It is the only place
// that knows Temporal's events: what leaves it are facts.
//
// Its main type is [Reader], which reads a run as far as it is, or waits for its
// end. Its one rule: nothing that a history holds makes it fail. What cannot be
// read (gaps, payloads, another program's workflow)
// is a fact too, and the rest is told all the same. Errors are the server's.
//
// Start reading at [Reader.Facts] and at decoder.facts.
package history
