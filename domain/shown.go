package domain

import "slices"

// Shown reports whether a compiler shows the entry in an execution, edits
// aside: a trace is shown by CurrentTrace only in the chain of executions that
// it belongs to.
func (e *Entry) Shown(c Compiler, chain []ExecutionID) bool {
	if c.ShowsTraces() {
		return true
	}
	tags := e.tags()
	return !tags.trace || slices.Contains(chain, tags.execution)
}

// Trace reports whether the message is trace.
func (e *Entry) Trace() bool { return e.tags().trace }
