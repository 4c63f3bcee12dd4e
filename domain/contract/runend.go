package contract

import "everstep/domain"

// A RunEnd says how a run ended.
type RunEnd int

const (
	// RunCompleted: the workflow came to its own end.
	RunCompleted RunEnd = iota
	// RunContinued: another run goes on.
	RunContinued
	// RunTerminated: an operator ended it.
	RunTerminated
	// RunTimedOut: it reached a time-out of the server's.
	RunTimedOut
	// RunFailed: it ended with an error, which no execution does.
	RunFailed
	// RunCancelled: it was cancelled with the server's own tools.
	RunCancelled
)

// Outcome is the outcome of an execution in progress whose run the server itself has ended; ok is false where it has not. The
// agent's workflow is over then too (Closed). A termination by hand forbids going on by itself, as an error does.
func (e RunEnd) Outcome() (o Outcome, ok bool) {
	o, ok = map[RunEnd]Outcome{
		RunTerminated: {Status: domain.StatusFailed, StopReason: domain.ErrorForbade, Code: domain.CodeTerminated},
		RunTimedOut:   {Status: domain.StatusFailed, StopReason: domain.ErrorForbade, Code: domain.CodeTimedOut},
		RunFailed:     {Status: domain.StatusFailed, StopReason: domain.ErrorForbade},
		RunCancelled:  {Status: domain.StatusStopped, StopReason: domain.UserRequested},
	}[e]
	o.Closed = ok
	return o, ok
}
