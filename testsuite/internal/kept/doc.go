// Package kept reads the scenarios in testsuite/testdata, with the hooks that they
// name. It is for tests only; the paths are those that a folder of tests sees.
package kept
