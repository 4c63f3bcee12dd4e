// Package statefile finds the dev server of a state file, for whoever starts it
// ([everstep/starter/devserver]) and for workers that are to serve there.
//
// [Running] is the place to start reading. Its one rule: it finds, and starts nothing.
package statefile
