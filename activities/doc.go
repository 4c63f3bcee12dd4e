// Package activities is the half of Everstep that touches the world: it calls
// models, tools and hooks, and writes transcripts to storage.
//
// Its main type is Activities, whose methods are what a worker registers. Its one
// rule: where an attempt may have done something that must not be done twice, the
// activity answers with what it knows instead of failing, for a failure is what
// Temporal tries again.
//
// Start reading at Config.
package activities
