package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// infer asks the model, as often as the budget and the kind of failure allow,
// and joins its answer to the transcript.
//
// Temporal retries what cannot have been billed; what may have been comes back
// as a reply, and is decided here with the budget in hand.
func (s *session) infer(step *turn) {
	tries, empty := 0, false
	for {
		room, fits := s.reserve(step.content.Usage)
		if !fits {
			s.signalTokens()
			step.content.Interrupted = true
			step.err(domain.CodedErrorf(domain.Denied, domain.CodeInterrupted, "the budget does not allow another try of the inference"))
			return
		}
		s.note(fmt.Sprintf("step %d: waiting for the model", step.number))
		request := s.request(step, room, tries)
		reply, err := await(s.activity(inferring, fmt.Sprintf("step %d · model", step.number)), domain.CallModel, request)
		if err != nil {
			s.inferenceFailed(step, err)
			return
		}
		step.spend(reply.Response.Usage.Add(reply.Spent))
		tries += max(reply.Tries, 1)
		switch reply.Outcome {
		case domain.Interrupted:
			s.interrupted(step, reply)
			return
		case domain.ShutDown:
			if s.stop.now() {
				s.interrupted(step, reply)
				return
			}
		case domain.BilledFailure:
			if !s.tryAgain(step, reply, tries) {
				return
			}
		case domain.Answered:
			s.tally.inferences++
			if answered := s.answered(step, reply, room, empty); answered {
				return
			}
			empty = true
		}
	}
}

// request names what the model is to answer.
func (s *session) request(step *turn, room reservation, tries int) domain.ModelRequest {
	left, limited := s.callsLeft()
	return domain.ModelRequest{
		ExecutionID: step.execution, Step: step.number, Log: s.log.Ref(), Resolved: s.resolved.Digest,
		Inference: s.tally.inferences, Attempts: tries,
		MaxOutputTokens: room.output, TokensLeft: room.left, WithoutTools: limited && left == 0,
	}
}

// inferenceFailed ends the step with the activity's failure.
func (s *session) inferenceFailed(step *turn, err error) {
	beat, heard := heartbeatOf(err)
	if heard {
		usage := beat.Spent.Add(beat.Reserved)
		usage.Estimated = true
		step.spend(usage)
	}
	if s.stop.now() {
		reply := domain.ModelReply{Outcome: domain.Interrupted}
		if heard && beat.Tail != "" {
			reply.Message = &domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: beat.Tail}}}
			reply.Digest = domain.DigestOf([]byte(beat.Tail))
		}
		s.interrupted(step, reply)
		return
	}
	s.stepFailed(step, failureOf(err))
}

// stepFailed records an unrecoverable error of the inference.
func (s *session) stepFailed(step *turn, err *domain.Error) {
	step.err(err)
	source := err.Source
	if source == "" {
		source = "inference"
	}
	s.signal(domain.ErrorForbade, source, err.Message)
}

// interrupted keeps what had come of an answer that a stop cut off.
func (s *session) interrupted(step *turn, reply domain.ModelReply) {
	step.content.Interrupted = true
	step.err(domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "the inference was cut off by a stop"))
	response := reply.Response
	step.content.Response = &response
	if m := reply.Message; m != nil && (m.Text() != "" || len(m.Parts) > 0) {
		// Calls that had arrived are not run and would want results: only the
		// text stays.
		m.Role, m.ToolCalls = domain.RoleAssistant, nil
		s.say(step, *m, reply.Digest, domain.Tag{Trace: true})
	}
}

// tryAgain decides about an attempt that failed and may have been billed.
func (s *session) tryAgain(step *turn, reply domain.ModelReply, tries int) bool {
	err := reply.Error
	if err == nil {
		err = domain.Errorf(domain.Internal, "the worker reported a failure without its error")
	}
	switch {
	case s.stop.now():
		s.interrupted(step, domain.ModelReply{Outcome: domain.Interrupted})
		return false
	case !err.Kind.Retryable() || tries >= s.attempts():
		s.stepFailed(step, err)
		return false
	}
	delay := max(time.Duration(reply.RetryAfterMillis)*time.Millisecond, s.backoff(tries))
	s.note(fmt.Sprintf("step %d: the model failed (%s), trying again in %s", step.number, err.Kind, delay))
	if workflow.Sleep(s.work, delay) != nil {
		s.interrupted(step, domain.ModelReply{Outcome: domain.Interrupted})
		return false
	}
	return true
}

// answered takes a whole answer. It answers false where there is nothing in it
// and the model is to be asked once more.
func (s *session) answered(step *turn, reply domain.ModelReply, room reservation, again bool) bool {
	response := reply.Response
	step.content.Response = &response
	m := reply.Message
	if m == nil {
		m = &domain.Message{Role: domain.RoleAssistant}
	}
	text, calls := m.Text() != "", len(m.ToolCalls) > 0
	switch {
	case !text && !calls && response.Finish == domain.FinishContentFilter:
		s.stepFailed(step, domain.CodedErrorf(domain.Denied, domain.CodeFiltered, "the provider's filter withheld the answer"))
		return true
	case !text && !calls && response.Finish != domain.FinishRefusal:
		if again {
			s.stepFailed(step, domain.CodedErrorf(domain.Unavailable, domain.CodeEmptyResponse, "the model gave neither text nor tool calls, twice"))
		}
		return again
	}
	m.Role = domain.RoleAssistant
	step.at = s.log.Len()
	s.say(step, *m, reply.Digest, domain.Tag{Trace: calls})
	step.calls = m.ToolCalls
	if response.Finish == domain.FinishLength && room.output > 0 && !calls {
		s.signalTokens()
	}
	return true
}
