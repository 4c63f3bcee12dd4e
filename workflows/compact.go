package workflows

import (
	"fmt"

	"everstep/domain"
	"everstep/domain/conversation"
	"everstep/domain/progress"
	"everstep/workflows/internal/mailbox"
)

// compact makes the conversation shorter for the model where it nears the
// window: old tool results first, then a summary. It answers false where that
// ended the step.
func (s *session) compact(step *turn) bool {
	if !s.conversation.Crowded(s.resolved, s.forceCompaction) {
		return true
	}
	s.conversation = s.conversation.WithResultsCleared(s.resolved)
	if s.conversation.Roomy(s.resolved) && !s.forceCompaction {
		return true
	}
	shrunk, ended := s.summarise(step)
	s.forceCompaction = s.forceCompaction && !shrunk && !ended
	return !ended
}

// overflowed takes a provider's word that the conversation is too long: it is
// made shorter, once a step. It answers false where that is not possible.
func (s *session) overflowed(step *turn, err error) bool {
	if failureOf(err).Code != domain.CodeContextOverflow || step.compacted || !s.resolved.Compacts() || s.mail.CutOff() {
		return false
	}
	step.compacted = true
	before := s.conversation.Input(s.resolved)
	s.conversation = s.conversation.WithRefused(s.resolved).WithResultsCleared(s.resolved)
	if s.conversation.Roomy(s.resolved) {
		return true
	}
	shrunk, ended := s.summarise(step)
	step.ended = ended
	return shrunk || ended || s.conversation.Input(s.resolved) < before
}

// summarise asks the model for a summary of what comes before the boundary, as
// a part of the step: its usage counts there. shrunk says that the conversation
// is shorter now, ended that the step is over.
func (s *session) summarise(step *turn) (shrunk, ended bool) {
	plan, worth := s.conversation.PlanSummary(s.resolved)
	if !worth {
		return false, false
	}
	s.note(fmt.Sprintf("step %d: making the conversation shorter", step.number))
	for tries := 0; ; {
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
		summary := plan.Request()
		request := s.request(step, room.Within(summary.MaxTokens), tries)
		request.WithoutTools, request.Summary = true, &summary
		reply, err := s.ask(step, permit, request, tries)
		if err != nil {
			if failureOf(err).Code == domain.CodeContextOverflow {
				if smaller, ok := plan.Halved(); ok {
					plan = smaller
					continue
				}
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
			return true, s.summarised(step, reply, plan)
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

// summarised joins a summary to the transcript. It answers true where there is
// none, which fails the step: going on without would forget what was said.
func (s *session) summarised(step *turn, reply domain.ModelReply, plan conversation.SummaryPlan) (ended bool) {
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
			"the conversation nears the model's window of %d tokens, and the model gave no summary of it", s.conversation.Window(s.resolved)))
		return true
	}
	s.say(step, domain.SectionSummary, m, reply.Digest, domain.Tag{})
	s.conversation = s.conversation.WithSummary(plan, s.resolved)
	s.keep(step)
	return false
}
