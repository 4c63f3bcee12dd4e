package workflows

import (
	"fmt"
	"strings"

	"everstep/domain"
	"everstep/domain/progress"
	"everstep/workflows/internal/mailbox"
)

// checkOutput asks a worker whether a message that a hook has made fits the
// response format. Nothing fails open: what cannot be checked does not fit.
func (s *session) checkOutput(permit mailbox.Permit, m domain.Message) string {
	format := s.resolved.Definition.Format
	if format.Type == "" || format.Type == domain.FormatText || len(m.ToolCalls) > 0 || progress.Blank(m) {
		return ""
	}
	reply, err := mailbox.Await(permit, s.activity(checking, "check the answer", 0), domain.CheckOutput, domain.OutputRequest{Format: format, Text: m.Text()})
	s.mail.Drain()
	if err != nil {
		return "the answer could not be checked: " + failureOf(err).Message
	}
	return reply.Invalid
}

// answeredInvalid takes an answer that does not fit the response format. It is
// an error of its step, and so trace; the guard decides what follows.
func (s *session) answeredInvalid(step *turn, err *domain.Error, problems string) {
	step.invalid = true
	s.learn(step, progress.Failed{Err: err})
	s.guarded.Invalid++
	if s.guarded.Invalid > s.outputRetries() {
		return
	}
	s.interject(domain.UserMessage(fmt.Sprintf(
		"Your answer does not fit the required format:\n%s\n\nAnswer again, with the whole corrected answer and nothing else.",
		strings.TrimSpace(problems))), "")
}

// outputRetries is how often an invalid answer is asked for again.
func (s *session) outputRetries() int {
	if g := s.resolved.Guards; g != nil && g.OutputRetries != nil {
		return *g.OutputRetries
	}
	return domain.DefaultOutputRetries
}

// guardOutputs asks for another answer in place of one that does not fit, or
// stops where that was asked for often enough.
func (s *session) guardOutputs(step *turn) {
	if !step.invalid {
		return
	}
	if retries := s.outputRetries(); s.guarded.Invalid > retries {
		s.signal(domain.RetryLimitReached, guardOutput, fmt.Sprintf(
			"%d answers in this execution did not fit the response format, and output_retries is %d; "+
				"make the schema or the instruction clearer, or raise guards.output_retries", s.guarded.Invalid, retries))
		return
	}
	if _, signalled := s.state.StopSignal(); !signalled {
		s.requestContinuation()
	}
}
