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
		room, fits := s.reserve()
		if !fits {
			s.signalTokens()
			step.cutOff(domain.Denied, "the budget does not allow another try of the inference")
			return
		}
		s.note(fmt.Sprintf("step %d: waiting for the model", step.number))
		options := s.activity(inferring, fmt.Sprintf("step %d · model", step.number), tries)
		reply, err := await(options, domain.CallModel, s.request(step, room, tries))
		s.heed()
		if err != nil {
			s.inferenceFailed(step, err)
			return
		}
		s.spend(step, reply.Response.Usage.Add(reply.Spent))
		tries += max(reply.Tries, 1)
		switch reply.Outcome {
		case domain.Interrupted, domain.ShutDown:
			// Only a stop of ours is one, whatever the worker says.
			if s.stop.now() {
				s.interrupted(step, reply)
				return
			}
			if tries >= s.attempts() {
				s.stepFailed(step, domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown,
					"the inference was cut off %d times by workers that stopped", tries))
				return
			}
		case domain.BilledFailure:
			if !s.tryAgain(step, reply, tries) {
				return
			}
		case domain.Answered:
			s.tally.inferences++
			s.tally.counted(reply.Response.Usage)
			if s.answered(step, reply, room, empty) {
				return
			}
			// What is asked next is another inference.
			tries, empty = 0, true
		default:
			s.stepFailed(step, domain.Errorf(domain.Internal, "the worker's reply does not say what came of the inference"))
			return
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
		s.spend(step, usage)
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
	err = bounded(err)
	step.err(err)
	source := err.Source
	if source == "" {
		source = "inference"
	}
	s.signal(domain.ErrorForbade, source, err.Message)
}

// interrupted keeps what had come of an answer that a stop cut off.
func (s *session) interrupted(step *turn, reply domain.ModelReply) {
	step.cutOff(domain.Unavailable, "the inference was cut off by a stop")
	m, ok := sound(reply.Message)
	if !ok {
		return
	}
	response := reply.Response
	step.content.Response = &response
	// Calls that had arrived are not run and would want results: only what was
	// written stays.
	m.ToolCalls = nil
	if len(m.Parts) > 0 {
		s.say(step, m, reply.Digest, domain.Tag{Trace: true})
	}
}

// maxRetryAfter bounds the delay that a provider may ask for.
const maxRetryAfter = time.Hour

// tryAgain decides about an attempt that failed and may have been billed.
func (s *session) tryAgain(step *turn, reply domain.ModelReply, tries int) bool {
	err := reply.Error
	if err == nil {
		err = domain.Errorf(domain.Internal, "the worker reported a failure without its error")
	}
	switch {
	case s.stop.now():
		s.interrupted(step, domain.ModelReply{})
		return false
	case !err.Kind.Retryable() || tries >= s.attempts():
		s.stepFailed(step, err)
		return false
	}
	asked := min(max(reply.RetryAfterMillis, 0), maxRetryAfter.Milliseconds())
	delay := max(time.Duration(asked)*time.Millisecond, s.backoff(tries))
	s.note(fmt.Sprintf("step %d: the model failed (%s), trying again in %s", step.number, err.Kind, delay))
	if workflow.Sleep(s.work, delay) != nil || s.nowStopped() {
		s.interrupted(step, domain.ModelReply{})
		return false
	}
	return true
}

// nowStopped reports whether a stop came that lets nothing go on.
func (s *session) nowStopped() bool {
	s.heed()
	return s.stop.now()
}

// answered takes a whole answer. It answers false where there is nothing in it
// and the model is to be asked once more.
func (s *session) answered(step *turn, reply domain.ModelReply, room reservation, again bool) bool {
	response := reply.Response
	step.content.Response = &response
	m, _ := sound(reply.Message)
	calls := len(m.ToolCalls)
	if blank(m) && calls == 0 && response.Finish != domain.FinishRefusal {
		return s.answeredNothing(step, response.Finish, room.bound(reply), again)
	}
	if calls > domain.MaxRequestedCalls {
		s.stepFailed(step, domain.CodedErrorf(domain.TooLarge, domain.CodeMalformed,
			"the model asked for %d tool calls in one answer; at most %d are taken", calls, domain.MaxRequestedCalls))
		return true
	}
	step.at = s.log.Len()
	if len(m.Parts)+calls > 0 {
		s.say(step, m, reply.Digest, domain.Tag{Trace: calls > 0})
	}
	step.calls = m.ToolCalls
	if response.Finish == domain.FinishLength && room.bound(reply) && calls == 0 {
		s.signalTokens()
	}
	return true
}

// answeredNothing takes an answer with neither text nor tool calls.
func (s *session) answeredNothing(step *turn, finish domain.FinishReason, bound, again bool) bool {
	switch {
	case finish == domain.FinishContentFilter:
		s.stepFailed(step, domain.CodedErrorf(domain.Denied, domain.CodeFiltered, "the provider's filter withheld the answer"))
	case finish == domain.FinishLength && bound:
		// What the budget left went into reasoning; asking again would too.
		s.signalTokens()
	case s.stop.noTools():
		step.cutOff(domain.Unavailable, "the model gave neither text nor tool calls, and was not asked again because of a stop")
	case again:
		s.stepFailed(step, domain.CodedErrorf(domain.Unavailable, domain.CodeEmptyResponse, "the model gave neither text nor tool calls, twice"))
	default:
		return false
	}
	return true
}
