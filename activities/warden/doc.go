// Package warden runs programs that others wrote, with all that they start, so
// that nothing of it outlives the worker, also where that is killed.
//
// Its main type is Process. Its one rule: a program gets the environment that it
// is given and nothing of the worker's own. On Linux a process between the two,
// the warden, is this same program again: it ends when the worker does, and takes
// every descendant of the program with it (Family), those too that have left their
// group or session, however many they make. It keeps those that were written
// carelessly, not those that mean harm: nothing confines a program, and one can kill its
// warden. Elsewhere, and in programs whose main does not call Serve first, a
// program is in a process group of its own and is killed with that.
//
// The keepers of package shell end what a command has started by a Family too.
package warden
