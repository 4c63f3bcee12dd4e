// Package tool is how a program gives an agent tools: a Tool is a Go function
// with a name, a description for the model, and an effect.
//
// The one rule is about effects. After a crash nobody knows whether a call that
// had begun was done; the effect says what may follow. When in doubt choose
// domain.AtMostOnce: such a call never runs a second time, and the model is told
// that its outcome is unknown.
//
// A tool that panics, hangs or answers too much does no harm to the worker, with
// one exception that no program can catch: a panic in a goroutine that the tool
// itself has started. Recover there.
//
// Start reading at New.
package tool
