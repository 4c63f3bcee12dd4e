// Package tool is how a program gives an agent tools: a Tool is a Go function
// with a name, a description for the model, and an effect.
//
// The one rule is about effects. After a crash nobody knows whether a call that
// had begun was done; the effect says what may follow. A tool that says nothing
// true about itself breaks the promise that nothing is done twice, so choose
// domain.AtMostOnce when in doubt: such a call never runs a second time, and
// the model is told that its outcome is unknown.
//
// A tool that panics, hangs or answers too much is an error for the model and
// does no harm to the worker, with one exception that no program can catch: a
// panic in a goroutine that the tool itself has started. Recover there.
//
// Start reading at New. Tools that are not written as Go functions, of another
// server for instance, are made with FromSpec.
package tool
