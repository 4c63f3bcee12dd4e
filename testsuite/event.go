package testsuite

import (
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// An Event happens to an agent while it runs.
type Event struct {
	after time.Duration
	stop  *contract.StopRequest
	// update and request are what is asked where it is no stop.
	update  string
	request any
	// session makes the agent one that stays open.
	session bool
}

// StopAt asks the execution to stop, some time after the agent began.
func StopAt(after time.Duration, mode contract.StopMode) Event {
	return Event{after: after, stop: &contract.StopRequest{Mode: mode, Reason: "the test stops it"}}
}

// SendAt gives the agent its next message, some time after it began. The agent
// is then a session, and closed after its last execution. A message that meets
// an execution in progress is refused, which ends the test: send it later.
func SendAt(after time.Duration, prompt string) Event {
	return updateAt(after, contract.UpdateSend, contract.SendRequest{Prompt: prompt}, true)
}

// ExtendAt gives the execution in progress new totals, some time after the
// agent began.
func ExtendAt(after time.Duration, totals domain.ExecutionBudget) Event {
	return updateAt(after, contract.UpdateExtend, contract.ExtendRequest{Budget: totals}, false)
}

// GoOnAt goes on from an execution that has stopped or failed, with new totals.
// The agent is then a session, as with SendAt.
func GoOnAt(after time.Duration, totals domain.ExecutionBudget) Event {
	return updateAt(after, contract.UpdateExtend, contract.ExtendRequest{Budget: totals}, true)
}

// PauseAt lets nothing new start, some time after the agent began.
func PauseAt(after time.Duration) Event {
	return updateAt(after, contract.UpdatePause, contract.PauseRequest{}, false)
}

// ResumeAt ends a pause, some time after the agent began.
func ResumeAt(after time.Duration) Event {
	return updateAt(after, contract.UpdateResume, contract.PauseRequest{}, false)
}

// updateAt does not compile where the request is not the update's.
func updateAt[In, Out any](after time.Duration, update contract.Update[In, Out], request In, session bool) Event {
	return Event{after: after, update: string(update), request: request, session: session}
}
