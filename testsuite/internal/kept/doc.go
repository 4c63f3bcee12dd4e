// Package kept reads what is kept in testsuite/testdata for the rooms of tests:
// the scenarios, with the hooks that they name, and the hooks of the kept
// histories. It is for tests only; their paths are those that a room sees.
package kept
