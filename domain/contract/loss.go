package contract

import (
	"cmp"
	"fmt"
	"time"

	"everstep/domain"
)

// A Loss is how work ended that gave no reply.
type Loss struct {
	How How
	// Reported is the error as whoever did the work reported it, where it did.
	Reported *domain.Error
	// Heartbeat is the work's last heartbeat, where one was heard.
	Heartbeat *Heartbeat
	// Final says that whoever did the work expects nothing of another attempt, RetryAfter how
	// long to wait before one.
	Final      bool
	RetryAfter time.Duration
	// Exhausted says that the server has tried it as often as it was asked to.
	Exhausted bool
	// Untaken says that no worker took it in time: it did not begin.
	Untaken bool
}

// A How says how work ended without a reply.
type How int

const (
	// Broke: nobody knows more than that it failed.
	Broke How = iota
	// TimedOut: nothing was heard of it in time.
	TimedOut
	// Cancelled: a stop took it back before it began.
	Cancelled
	// Oversized: the server refused its result.
	Oversized
	// Garbled: its reply cannot be read.
	Garbled
)

// WorkerFailure is an error that is none of ours, as a worker told it.
func WorkerFailure(message string) *domain.Error {
	return domain.Errorf(domain.Internal, "the worker failed: %s", message)
}

// Err is the error that the loss is.
func (l Loss) Err() *domain.Error {
	if l.Reported != nil {
		return Bounded(l.Reported)
	}
	switch l.How {
	case TimedOut:
		return domain.CodedErrorf(domain.Unavailable, domain.CodeTimeout, "no worker finished it in time")
	case Cancelled:
		return domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "cut off by a stop")
	case Oversized:
		return domain.TooLargef("the result is larger than the server takes")
	case Garbled:
		return domain.Errorf(domain.Internal, "the worker's answer cannot be read; see that all workers are of the same version")
	case Broke:
	}
	return domain.Errorf(domain.Internal, "the worker failed; its log says more")
}

// Spent is what the loss of an inference may have cost. Of an attempt whose last heartbeat tells of its request it is what had
// come, where the workflow makes the inference again, else what the heartbeat had reserved. Of one that was never heard of, or
// only before its request, it is what the workflow had reserved: the request may have left, and been answered, all the same.
func (l Loss) Spent(request ModelRequest, again bool) domain.Usage {
	if l.How != TimedOut || l.Untaken {
		return domain.Usage{} // the activity fails only where it cost nothing
	}
	heartbeat := *cmp.Or(l.Heartbeat, &Heartbeat{})
	if again && heartbeat.TellsOfRequest() {
		return heartbeat.Used()
	}
	reserved := heartbeat.Reserved
	if !heartbeat.TellsOfRequest() {
		reserved = request.Reserved
	}
	spent := heartbeat.Spent.Add(reserved)
	spent.Estimated = true
	return spent
}

// Tried counts the tries of an inference that ended so, over all activities. The one whose worker was lost is none.
func (l Loss) Tried(request ModelRequest) int {
	return max(request.Attempts, cmp.Or(l.Heartbeat, &Heartbeat{}).Attempt-1)
}

// AskedAgain reports whether the workflow makes an inference again whose worker was lost.
func (l Loss) AskedAgain(request ModelRequest) bool {
	return l.How == TimedOut && !l.Exhausted && l.Tried(request) < request.Tries && request.Lost+1 < domain.InferenceLosses
}

// Kept is what the last heartbeat told of an answer whose worker was lost.
func (l Loss) Kept() ModelReply {
	reply := ModelReply{Outcome: Interrupted}
	if l.Heartbeat == nil || l.Heartbeat.Tail == "" {
		return reply
	}
	text := l.Heartbeat.Tail
	if l.Heartbeat.Length > len(text) {
		text = "…" + text // its beginning is lost
	}
	reply.Message = &domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: text}}}
	reply.Digest = domain.DigestOfTexts(text)
	return reply
}

// Retryable reports whether another attempt may come to something.
func (l Loss) Retryable() bool { return l.How == TimedOut || l.How == Broke && !l.Final }

// MadeAgain reports whether the workflow makes a call again after the loss.
func (l Loss) MadeAgain(call ToolRequest) bool {
	if call.Pending != nil { // to ask about it does nothing, and where a stop came it is taken back
		return (l.Retryable() || l.How == Cancelled) && !call.TakeBack
	}
	return l.Retryable() && call.Effect.Repeatable() && call.Attempts+1 < call.Tries && !l.givesUp(call)
}

// Unbinds reports whether the session of a call is lost with its worker: nobody has taken the call there.
func (l Loss) Unbinds(call ToolRequest) bool { return l.Untaken && call.Bound != nil }

// Strands reports whether a call was left where the limit of its tool holds: nobody has taken it there.
func (l Loss) Strands(call ToolRequest) bool {
	return l.Untaken && call.Bound == nil && call.Pending == nil
}

// workerGone is why a session is lost whose worker takes no call.
const workerGone = "its worker does not answer, and has probably ended"

// givesUp reports whether the call has lost as many workers as its tool may cost.
func (l Loss) givesUp(call ToolRequest) bool {
	return l.How == TimedOut && call.Lost+1 >= call.Losses
}

// ToolReply is what the loss means for a tool call. One that may not be repeated
// began, and nobody knows how it ended.
func (l Loss) ToolReply(call ToolRequest) ToolReply {
	switch {
	case call.Pending != nil:
		return GivenUp(call)
	case l.Unbinds(call):
		reply := NotMade(call, domain.Unavailable, "not run: "+SessionGone(workerGone))
		reply.NotStarted, reply.SessionLost = true, workerGone
		return reply
	case l.Strands(call):
		reply := NotMade(call, domain.Unavailable, "not run: no worker took it where the limit of its tool holds")
		reply.NotStarted = true
		return reply
	case l.How == Cancelled && call.Attempts > 0:
		return NotAgain(call)
	case l.How == Cancelled:
		return NotRun(domain.Denied, "not run: the execution was stopped")
	case !call.Effect.Repeatable():
		return Unanswered(domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown,
			"outcome unknown: the call began and its worker was lost; it may or may not have taken effect, and was not repeated"))
	}
	call.Attempts++
	if l.givesUp(call) {
		return tried(call, domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown,
			"outcome unknown: its worker was lost each time that %s ran (%d); it may have taken effect, and is not repeated", call.Name, call.Lost+1))
	}
	return tried(call, l.Err())
}

// NotAgain is the reply for a call that may have begun, waited to be made again,
// and was not because of a stop.
func NotAgain(call ToolRequest) ToolReply {
	return tried(call, domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted,
		"interrupted: the execution was stopped before %s was tried again; what had begun of it may have taken effect", call.Name))
}

// GivenUp is the reply for a call that its other side went on with, and that was asked about no more.
func GivenUp(call ToolRequest) ToolReply {
	if call.Effect.Repeatable() {
		return tried(call, domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted,
			"interrupted: the other side still worked at the call of %s when it was given up; it may have taken effect", call.Name))
	}
	return tried(call, domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown,
		"outcome unknown: the other side still worked at the call of %s when it was given up; it may or may not take effect, and was not repeated", call.Name))
}

func tried(call ToolRequest, err *domain.Error) ToolReply {
	reply := Unanswered(err)
	if call.Attempts > 1 {
		reply.Attempts = call.Attempts
	}
	return reply
}

// NotRun is the reply for a call that was never begun, and why.
func NotRun(kind domain.Kind, why string) ToolReply {
	return Unanswered(domain.CodedErrorf(kind, domain.CodeNotRun, "%s", why))
}

// NotMade is the reply for a call that did not begin this time, and why. Where it had begun before it may have taken effect.
func NotMade(call ToolRequest, kind domain.Kind, why string) ToolReply {
	if call.Attempts == 0 {
		return NotRun(kind, why)
	}
	return tried(call, domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted,
		"interrupted: %s had begun before and may have taken effect; this time it was %s", call.Name, why))
}

// Unanswered is the reply for a call that nothing but an error is known of.
func Unanswered(err *domain.Error) ToolReply {
	return ToolReply{
		Content: err.Message, Error: err,
		Digest: domain.DigestOfTexts(string(err.Code), err.Message),
	}
}

// Bounded returns the error with a message that a state may keep.
func Bounded(err *domain.Error) *domain.Error {
	own := *err
	own.Message = domain.Shorten(err.Message, domain.MaxReason)
	return &own
}

// WhyUnanswered is the error of an inference that ended without an answer. It is never nil; call it for such a reply alone.
func (r ModelReply) WhyUnanswered() *domain.Error {
	switch r.Outcome {
	case Interrupted:
		return domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "cut off by a stop")
	case ShutDown:
		return domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown, "cut off by a worker that stopped")
	case Answered, BilledFailure:
	}
	return cmp.Or(r.Error, domain.Errorf(domain.Internal, "the worker reported a failure without its error"))
}

// AttemptWaits says until when an inference waits whose attempt failed, and why that failed.
func AttemptWaits(step, attempt int, until time.Time, why *domain.Error) string {
	return fmt.Sprintf("step %d: attempt %d at the model waits until %s: %s",
		step, attempt, until.UTC().Format(time.RFC3339), domain.Shorten(why.Message, 200))
}
