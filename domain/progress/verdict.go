package progress

import (
	"fmt"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Verdict says what follows from how an inference ended.
type Verdict int

const (
	// Take: it is answered, and the answer is to be taken.
	Take Verdict = iota
	// Again: it is made again.
	Again
	// Stop: a stop has cut it off, and with it the step.
	Stop
	// Fail: an error ends the step.
	Fail
)

// Judge says what follows from the reply of an inference after so many tries of
// at most attempts, and with which error where it fails. Only a stop of ours, by
// stopped, is one, whatever the worker says.
func Judge(reply contract.ModelReply, tries, attempts int, stopped bool) (Verdict, *domain.Error) {
	why := WhyUnanswered(reply)
	switch reply.Outcome {
	case contract.Answered:
		return Take, nil
	case contract.Interrupted, contract.ShutDown:
		if tries >= attempts {
			why = domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown,
				"the inference was cut off %d times by workers that stopped", tries)
		}
	case contract.BilledFailure:
	default:
		return Fail, domain.Errorf(domain.Internal, "the worker's reply does not say what came of the inference")
	}
	if stopped {
		return Stop, nil
	}
	if tries >= attempts || !why.Kind.Retryable() {
		return Fail, why
	}
	return Again, nil
}

// WhyUnanswered says what became of an inference that ended without an answer. Call it for such a reply alone: it is never nil.
func WhyUnanswered(reply contract.ModelReply) *domain.Error {
	switch reply.Outcome {
	case contract.Interrupted:
		return domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "cut off by a stop")
	case contract.ShutDown:
		return domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown, "cut off by a worker that stopped")
	case contract.Answered, contract.BilledFailure:
	}
	if reply.Error != nil {
		return reply.Error
	}
	return domain.Errorf(domain.Internal, "the worker reported a failure without its error")
}

const maxRetryAfter = time.Hour

// Delay is how long to wait before an inference is made again.
func Delay(reply contract.ModelReply, own time.Duration) time.Duration {
	asked := min(max(reply.RetryAfterMillis, 0), maxRetryAfter.Milliseconds())
	return max(time.Duration(asked)*time.Millisecond, own)
}

// maxWaitReason bounds why an attempt failed, where that is said in passing.
const maxWaitReason = 200

// Waits says for what an inference waits whose attempt failed.
func Waits(step, attempt int, until time.Time, why *domain.Error) string {
	return fmt.Sprintf("step %d: attempt %d at the model waits until %s: %s",
		step, attempt, until.UTC().Format(time.RFC3339), domain.Shorten(why.Message, maxWaitReason))
}

// A Cut says what cut a step off, in words that are recorded.
type Cut string

const (
	// StopInInference: a stop came while the model was asked.
	StopInInference Cut = "the inference was cut off by a stop"
	// StopInTools: a stop came while tools were at work.
	StopInTools Cut = "the tool calls were cut off by a stop"
	// StopAtPause: a stop came between two parts of an answer.
	StopAtPause Cut = "the model paused in its answer, and was not asked to go on because of a stop"
	// StopAtNothing: a stop came after an answer with nothing in it.
	StopAtNothing Cut = "the model gave neither text nor tool calls, and was not asked again because of a stop"
	// HookBefore: a hook stopped the execution before the model was asked.
	HookBefore Cut = "a hook stopped the step before the model was asked"
	// NoBudget: not even the smallest answer fits what is left.
	NoBudget Cut = "the budget does not allow another try of the inference"
	// NoBudgetToSumUp: nor does a summary.
	NoBudgetToSumUp Cut = "the budget does not allow to make the conversation shorter"
	// WorkflowEnded: the server ended the workflow.
	WorkflowEnded Cut = "the workflow ended while this was under way"
)

// Err is the error that the cut leaves with its step.
func (c Cut) Err() *domain.Error {
	kind := domain.Unavailable
	switch c {
	case HookBefore, NoBudget, NoBudgetToSumUp:
		kind = domain.Denied
	case StopInInference, StopInTools, StopAtPause, StopAtNothing, WorkflowEnded:
	}
	return domain.CodedErrorf(kind, domain.CodeInterrupted, "%s", string(c))
}
