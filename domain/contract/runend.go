package contract

import "everstep/domain"

// EndedByServer is the outcome of an execution in progress whose run the server itself has ended, by the server's word for the
// status of the run, such as Terminated; ok is false where it has not. The agent's workflow is over then too (Closed). A termination
// by hand forbids going on by itself, as an error does.
func EndedByServer(status string) (o Outcome, ok bool) {
	o, ok = map[string]Outcome{
		"Terminated": {Status: domain.StatusFailed, StopReason: domain.ErrorForbade, Code: domain.CodeTerminated},
		"TimedOut":   {Status: domain.StatusFailed, StopReason: domain.ErrorForbade, Code: domain.CodeTimedOut},
		"Failed":     {Status: domain.StatusFailed, StopReason: domain.ErrorForbade},
		"Canceled":   {Status: domain.StatusStopped, StopReason: domain.UserRequested},
	}[status]
	o.Closed = ok
	return o, ok
}
