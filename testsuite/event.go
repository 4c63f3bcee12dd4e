package testsuite

import (
	"time"

	"everstep/domain"
)

// An Event happens to an agent while it runs.
type Event struct {
	after time.Duration
	stop  *domain.StopRequest
	send  *domain.SendRequest
}

// StopAt asks the execution to stop, some time after the agent began.
func StopAt(after time.Duration, mode domain.StopMode) Event {
	return Event{after: after, stop: &domain.StopRequest{Mode: mode, Reason: "the test stops it"}}
}

// SendAt gives the agent its next message, some time after it began. The agent
// is then a session, and closed after its last execution. A message that meets
// an execution in progress is refused, which ends the test: send it later.
func SendAt(after time.Duration, prompt string) Event {
	return Event{after: after, send: &domain.SendRequest{Prompt: prompt}}
}
