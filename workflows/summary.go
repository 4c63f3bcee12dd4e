package workflows

import (
	"fmt"

	"everstep/domain"
	"everstep/domain/progress"
	"everstep/workflows/internal/mailbox"
)

// summarise asks the model for a summary of what comes before the boundary, as
// a part of the step: its usage counts there. shrunk says that the conversation
// is shorter now, ended that the step is over.
func (s *session) summarise(step *turn) (shrunk, ended bool) {
	to := s.boundary()
	if s.tokensBefore(to) < s.summaryBound()/2 {
		return false, false
	}
	s.note(fmt.Sprintf("step %d: making the conversation shorter", step.number))
	window := s.window()
	for tries, halved := 0, 0; ; {
		permit, ok := s.mail.Permit(mailbox.ForInference)
		if !ok {
			s.interrupted(step, domain.ModelReply{})
			return false, true
		}
		room, reason := s.reserve()
		if reason != "" {
			s.signalShort(reason)
			s.learn(step, progress.CutOff{By: progress.NoBudgetToSumUp})
			return false, true
		}
		request := s.request(step, room, tries)
		request.WithoutTools = true
		request.Summary = &domain.SummaryRequest{To: to, MaxTokens: s.summaryBound(), Window: s.readable(window)}
		if bound := s.summaryBound(); room.output == 0 || bound < room.output {
			request.MaxOutputTokens = bound
		}
		reply, err := s.ask(step, permit, request, tries)
		if err != nil {
			if failureOf(err).Code == domain.CodeContextOverflow && halved < maxHalved && window > 0 {
				window, halved = window/2, halved+1
				continue
			}
			if s.rerouted(step, err) {
				continue
			}
			if s.mail.CutOff() {
				// The text so far is no answer of the agent's.
				s.interrupted(step, domain.ModelReply{})
			} else {
				s.stepFailed(step, failureOf(err))
			}
			return false, true
		}
		tries += max(reply.Tries, 1)
		switch reply.Outcome {
		case domain.Answered:
			return true, s.summarised(step, reply, to)
		case domain.BilledFailure:
			if s.rerouted(step, progress.WhyUnanswered(reply)) {
				continue
			}
			if !s.tryAgain(step, reply, tries) {
				return false, true
			}
		case domain.Interrupted, domain.ShutDown:
			if s.mail.CutOff() || tries >= s.attempts() {
				s.interrupted(step, domain.ModelReply{})
				return false, true
			}
		default:
			s.stepFailed(step, domain.Errorf(domain.Internal, "the worker's reply does not say what came of the summary"))
			return false, true
		}
	}
}

// readable is a window in estimated tokens; zero stays unknown.
func (s *session) readable(window int64) int64 {
	if window == 0 {
		return 0
	}
	return max(s.own(window), 1)
}

// maxHalved is how often a summary is asked for again, of half as much text,
// where the provider finds it too long.
const maxHalved = 4

// summarised joins a summary to the transcript. It answers true where there is
// none, which fails the step: going on without would forget what was said.
func (s *session) summarised(step *turn, reply domain.ModelReply, to int) (ended bool) {
	var m domain.Message
	if reply.Message != nil {
		m = *reply.Message
	}
	m.Role, m.ToolCalls, m.ToolResult = domain.RoleUser, nil, nil
	s.emit(domain.InferenceResponseReceived{
		EventHeader: s.head(), FinishReason: reply.Response.Finish, Usage: reply.Response.Usage.Add(reply.Spent),
	})
	if len(m.Parts) == 0 || progress.Blank(domain.Message{Parts: m.Parts[len(m.Parts)-1:]}) {
		s.stepFailed(step, domain.CodedErrorf(domain.Unavailable, domain.CodeContextOverflow,
			"the conversation nears the model's window of %d tokens, and the model gave no summary of it", s.window()))
		return true
	}
	buffered := s.log.Len()
	s.say(step, domain.SectionSummary, m, reply.Digest, domain.Tag{})
	s.hidden(to, buffered)
	s.keep(step)
	return false
}
