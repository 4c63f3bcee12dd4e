package workflows

import (
	"fmt"

	"everstep/domain"
	"everstep/domain/progress"
	"everstep/workflows/internal/mailbox"
)

// infer asks the model, as often as the budget and the kind of failure allow,
// and joins its answer to the transcript.
//
// Temporal retries what cannot have been billed; what may have been comes back
// as a reply, and is decided here with the budget in hand.
func (s *session) infer(step *turn) {
	tries, empty := 0, false
	for {
		room, ok := s.prepareInference(step)
		if !ok {
			return
		}
		s.note(fmt.Sprintf("step %d: waiting for the model", step.number))
		reply, err := s.ask(step, room.permit, s.request(step, room.Reservation, tries), tries)
		if err != nil {
			if s.overflowed(step, err) {
				if step.ended {
					return
				}
				continue
			}
			if s.rerouted(step, err) {
				continue
			}
			s.inferenceFailed(step, err)
			return
		}
		tries += max(reply.Tries, 1)
		if reply.Outcome == domain.BilledFailure {
			if s.overflowed(step, progress.WhyUnanswered(reply)) {
				if step.ended {
					return
				}
				continue
			}
			if s.rerouted(step, progress.WhyUnanswered(reply)) {
				continue
			}
		}
		if reply.Outcome != domain.Answered {
			if !s.tryAgain(step, reply, tries) {
				return
			}
			continue
		}
		paused := step.paused
		if s.answered(step, reply, room, empty) {
			return
		}
		// What is asked next is another inference.
		tries, empty = 0, empty || step.paused == paused
	}
}

// A prepared inference is one that may be made: what it may use, and the permit.
type prepared struct {
	domain.Reservation
	permit mailbox.Permit
}

// prepareInference compacts the conversation where it nears the model's window,
// and reserves what the next try may use. It answers false where that ends the
// step.
func (s *session) prepareInference(step *turn) (prepared, bool) {
	if _, ok := s.mail.Permit(mailbox.ForInference); ok && !s.compact(step) {
		return prepared{}, false
	}
	// A pause or a stop may have come meanwhile.
	permit, ok := s.mail.Permit(mailbox.ForInference)
	if !ok {
		s.interrupted(step, domain.ModelReply{})
		return prepared{}, false
	}
	room, reason := s.reserve()
	if reason != "" {
		s.signalShort(reason)
		s.learn(step, progress.CutOff{By: progress.NoBudget})
		return prepared{}, false
	}
	return prepared{room.Within(step.outputBound), permit}, true
}

// ask makes one inference activity, counts what it used and tells of it.
func (s *session) ask(step *turn, permit mailbox.Permit, request domain.ModelRequest, tries int) (domain.ModelReply, error) {
	what := "model"
	if request.Summary != nil {
		what = "summary"
	}
	s.emit(domain.InferenceRequestStarted{
		EventHeader: s.head(), Model: domain.Shorten(s.resolved.Definition.Model.String(), maxEventText), Attempts: tries, Summary: request.Summary != nil,
	})
	options := s.activity(inferring, fmt.Sprintf("step %d · %s", step.number, what), tries)
	reply, err := mailbox.Await(permit, options, domain.CallModel, request)
	s.mail.Drain()
	work := progress.Work{Model: &request}
	if err != nil {
		loss := lossOf(err)
		s.learn(step, progress.Lost{Work: work, Loss: loss})
		s.keep(step)
		s.unanswered(loss.Err(), domain.Usage{})
		return reply, err
	}
	// Whoever asks sees at once what was used, and the budget counts it before
	// anything else is reserved.
	s.learn(step, progress.ModelReplied{Work: work, Reply: reply})
	s.keep(step)
	if reply.Outcome != domain.Answered {
		s.unanswered(progress.WhyUnanswered(reply), reply.Response.Usage.Add(reply.Spent))
		return reply, nil
	}
	if request.Summary == nil {
		s.conversation = s.conversation.WithInference(reply.Response.Usage, s.resolved)
	}
	return reply, nil
}

// unanswered closes a request that got no answer, for the events.
func (s *session) unanswered(err *domain.Error, usage domain.Usage) {
	s.emit(domain.InferenceResponseReceived{EventHeader: s.head(), Usage: usage, Kind: err.Kind, Code: err.Code})
}

// request names what the model is to answer.
func (s *session) request(step *turn, room domain.Reservation, tries int) domain.ModelRequest {
	left, limited := s.callsLeft()
	return domain.ModelRequest{
		ExecutionID: step.execution, Step: step.number, Log: s.conversation.Log().Ref(), Resolved: s.resolved.Digest,
		Inference: s.conversation.Inferences(), Attempts: tries, Edits: s.conversation.Edits(), Origins: s.conversation.Origins(),
		MaxOutputTokens: room.Output, TokensLeft: room.TokensLeft, CostLeftNanoUSD: room.CostLeftNanoUSD,
		WithoutTools: step.withoutTools || limited && left == 0,
	}
}

// inferenceFailed ends the step with the activity's failure.
func (s *session) inferenceFailed(step *turn, err error) {
	if s.mail.CutOff() {
		s.interrupted(step, lossOf(err).Kept())
		return
	}
	s.stepFailed(step, failureOf(err))
}

// stepFailed records an unrecoverable error of the inference.
func (s *session) stepFailed(step *turn, err *domain.Error) {
	err = progress.Ending(err)
	s.learn(step, progress.Failed{Err: err})
	if s.failOver(step, err) {
		return
	}
	s.signal(domain.ErrorForbade, err.Source, err.Message)
}

// interrupted keeps what had come of an answer that a stop cut off.
func (s *session) interrupted(step *turn, reply domain.ModelReply) {
	s.learn(step, progress.CutOff{By: progress.StopInInference, Reply: reply})
	m, written := progress.Remains(reply)
	switch {
	case !written:
	// Nothing stays where a hook might have taken out of it what nobody may read.
	case domain.Rewriter(s.resolved.Hooks) != "":
		s.guarded.Rewritten = true
	default:
		s.say(step, "", m, reply.Digest, domain.Tag{Trace: true})
	}
}

// tryAgain decides about an inference that was not answered. It answers false
// where that ends the step.
func (s *session) tryAgain(step *turn, reply domain.ModelReply, tries int) bool {
	verdict, err := progress.Judge(reply, tries, s.attempts(), s.mail.CutOff())
	switch {
	case verdict == progress.Stop:
		s.interrupted(step, reply)
		return false
	case verdict == progress.Fail:
		s.stepFailed(step, err)
		return false
	case reply.Outcome != domain.BilledFailure:
		return true
	}
	delay := progress.Delay(reply, s.backoff(tries))
	s.note(fmt.Sprintf("step %d: the model failed (%s), trying again in %s", step.number, progress.WhyUnanswered(reply).Kind, delay))
	if !s.mail.BackOff(delay) {
		s.interrupted(step, domain.ModelReply{})
		return false
	}
	return true
}
