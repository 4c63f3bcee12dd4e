// Package guards holds the tests of the loop as a whole and of the documents:
// scenarios come to what their files say, hooks and pauses do what is promised,
// the documents name what exists. They need no server and no
// recordings, and take seconds: run them with every change.
//
//	go test ./testsuite ./testsuite/guards
//
// Tests of one package stand with that package; those on a real server are in
// package whole.
package guards
