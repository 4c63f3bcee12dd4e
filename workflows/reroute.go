package workflows

import (
	"fmt"

	"everstep/domain"
	"everstep/workflows/internal/mailbox"
)

// rerouted looks for the model's rate limit anew where a worker says that one
// has come, which holds on a queue of its own. While workers are replaced it may
// be another one that is asked, which does not have the limit yet: then it is
// looked for again, after a while. It answers false where an error is another
// one, or where that does not help.
func (s *session) rerouted(step *turn, err error) bool {
	if failureOf(err).Code != domain.CodeRerouted || step.reroutes >= s.attempts() {
		return false
	}
	if step.reroutes > 0 {
		delay := s.backoff(step.reroutes)
		s.note(fmt.Sprintf("step %d: the workers differ in their rate limits, looking again in %s", step.number, delay))
		if !s.mail.BackOff(delay) {
			return false
		}
	}
	permit, ok := s.mail.Permit(mailbox.WithinStep)
	if !ok {
		return false
	}
	step.reroutes++
	s.outdated = true
	signals := len(s.state.StopSignals())
	s.resolve(permit)
	return !s.outdated && len(s.state.StopSignals()) == signals
}
