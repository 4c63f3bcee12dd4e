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
		room, ok := s.room(step)
		if !ok {
			return
		}
		s.note(fmt.Sprintf("step %d: waiting for the model", step.number))
		reply, err := s.ask(step, s.request(step, room, tries), tries)
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
			if s.overflowed(step, whyUnanswered(reply)) {
				if step.ended {
					return
				}
				continue
			}
			if s.rerouted(step, whyUnanswered(reply)) {
				continue
			}
			if !s.tryAgain(step, reply, tries) {
				return
			}
		case domain.Answered:
			s.tally.inferences++
			paused := step.paused
			if s.answered(step, reply, room, empty) {
				return
			}
			// What is asked next is another inference.
			tries, empty = 0, empty || step.paused == paused
		default:
			s.stepFailed(step, domain.Errorf(domain.Internal, "the worker's reply does not say what came of the inference"))
			return
		}
	}
}

// room compacts the conversation where it nears the model's window, and
// reserves what the next try may use. It answers false where that ends the step.
func (s *session) room(step *turn) (reservation, bool) {
	s.hold()
	if !s.stop.now() && !s.compact(step) {
		return reservation{}, false
	}
	// A pause may have come meanwhile.
	s.hold()
	if s.stop.now() {
		s.interrupted(step, domain.ModelReply{})
		return reservation{}, false
	}
	room, reason := s.reserve()
	if reason != "" {
		s.signalShort(reason)
		step.cutOff(domain.Denied, "the budget does not allow another try of the inference")
		return reservation{}, false
	}
	if bound := step.outputBound; bound > 0 && (room.output == 0 || bound < room.output) {
		room.output, room.foreign = bound, true
	}
	return room, true
}

// ask makes one inference activity, counts what it used and tells of it.
func (s *session) ask(step *turn, request domain.ModelRequest, tries int) (domain.ModelReply, error) {
	what := "model"
	if request.Summary != nil {
		what = "summary"
	}
	s.tell(domain.InferenceRequestStarted{
		EventHeader: s.head(), Model: domain.Shorten(s.resolved.Definition.Model.String(), maxEventText), Attempts: tries, Summary: request.Summary != nil,
	})
	options := s.activity(inferring, fmt.Sprintf("step %d · %s", step.number, what), tries)
	reply, err := await(options, domain.CallModel, request)
	s.heed()
	if err != nil {
		if failureOf(err).Code != domain.CodeRerouted {
			step.tried(1)
		}
		if beat, heard := heartbeatOf(err); heard {
			usage := beat.Spent.Add(beat.Reserved)
			usage.Estimated = true
			s.spend(step, domain.Usage{}, usage)
		}
		s.unanswered(failureOf(err), domain.Usage{})
		return reply, err
	}
	step.tried(max(reply.Tries, 1))
	s.spend(step, reply.Response.Usage, reply.Spent)
	if reply.Outcome != domain.Answered {
		s.unanswered(whyUnanswered(reply), reply.Response.Usage.Add(reply.Spent))
		return reply, nil
	}
	if request.Summary == nil {
		s.counted(reply.Response.Usage)
	}
	return reply, nil
}

// unanswered closes a request that got no answer, for the events.
func (s *session) unanswered(err *domain.Error, usage domain.Usage) {
	s.tell(domain.InferenceResponseReceived{EventHeader: s.head(), Usage: usage, Kind: err.Kind, Code: err.Code})
}

// whyUnanswered says what became of an inference that ended without an answer.
func whyUnanswered(reply domain.ModelReply) *domain.Error {
	switch {
	case reply.Outcome == domain.Interrupted:
		return domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "cut off by a stop")
	case reply.Outcome == domain.ShutDown:
		return domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown, "cut off by a worker that stopped")
	case reply.Error != nil:
		return reply.Error
	}
	return domain.Errorf(domain.Internal, "the worker reported a failure without its error")
}

// request names what the model is to answer.
func (s *session) request(step *turn, room reservation, tries int) domain.ModelRequest {
	left, limited := s.callsLeft()
	return domain.ModelRequest{
		ExecutionID: step.execution, Step: step.number, Log: s.log.Ref(), Resolved: s.resolved.Digest,
		Inference: s.tally.inferences, Attempts: tries, Edits: s.edits, Origins: s.origins(),
		MaxOutputTokens: room.output, TokensLeft: room.left, CostLeftNanoUSD: room.cost,
		WithoutTools: step.withoutTools || limited && left == 0,
	}
}

// inferenceFailed ends the step with the activity's failure.
func (s *session) inferenceFailed(step *turn, err error) {
	beat, heard := heartbeatOf(err)
	if s.stop.now() {
		reply := domain.ModelReply{Outcome: domain.Interrupted}
		if heard && beat.Tail != "" {
			text := beat.Tail
			if beat.Length > len(text) {
				text = "…" + text // its beginning is lost
			}
			reply.Message = &domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: text}}}
			reply.Digest = domain.DigestOf([]byte(text))
		}
		s.interrupted(step, reply)
		return
	}
	s.stepFailed(step, failureOf(err))
}

// stepFailed records an unrecoverable error of the inference.
func (s *session) stepFailed(step *turn, err *domain.Error) {
	err = bounded(err)
	if err.Source == "" {
		err = err.From("inference")
	}
	step.err(err)
	if s.failOver(step, err) {
		return
	}
	s.signal(domain.ErrorForbade, err.Source, err.Message)
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
	// written stays, and not even that where a hook might have taken out of it
	// what nobody may read.
	m.ToolCalls = nil
	switch {
	case len(m.Parts) == 0:
	case domain.Rewriter(s.resolved.Hooks) != "":
		s.guarded.Rewritten = true
	default:
		s.say(step, "", m, reply.Digest, domain.Tag{Trace: true})
	}
}

// maxRetryAfter bounds the delay that a provider may ask for.
const maxRetryAfter = time.Hour

// tryAgain decides about an attempt that failed and may have been billed.
func (s *session) tryAgain(step *turn, reply domain.ModelReply, tries int) bool {
	err := whyUnanswered(reply)
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
