// Package scripted is a provider that plays an answer for each inference from
// a file, for tests and demonstrations.
//
// Its main type is Provider. Its one rule: a script has no state. Which entry
// answers, and which of its failures is met, follows from the request alone,
// so any worker can play any part of it. Start reading at script.go, which is
// the file's form.
package scripted
