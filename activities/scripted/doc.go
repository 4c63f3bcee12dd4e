// Package scripted is a provider that plays an answer for each inference from
// a file, for tests and demonstrations; help scripts says how one is written.
//
// Its main type is Provider. Its one rule: a script has no state. Which entry
// answers, and which of its failures is met, follows from the request alone,
// so any worker can play any part of it.
//
// Start reading at script.go, which is the file's form, and quoting.go, which is
// what templates can do.
package scripted
