package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

const (
	// mostAsked bounds how often a call is asked about: each time takes some of the history.
	mostAsked = 1000
	// longestPending bounds how long its other side may go on with it.
	longestPending = 30 * 24 * time.Hour
	// takeBackTimeout bounds the word to the other side that a call is given up, and takeBackInAll
	// that with the wait for a worker that says it: a stop waits no longer.
	takeBackTimeout = 10 * time.Second
	takeBackInAll   = 15 * time.Second
)

// follow asks what came of a call until that is known, in the coroutine of the call. Between two times nothing
// holds a worker, and each may go to another one. The call is under way all the time: a stop that lets calls
// finish lets this one finish.
func (a *callAttempts) follow(ctx workflow.Context, reply *contract.ToolReply) contract.ToolReply {
	b := a.batch
	a.options.DisableEagerExecution = true // another worker may hear what this one does not
	a.options.TaskQueue = ""               // what is asked counts in no rate
	a.options.RetryPolicy.MaximumAttempts = 1
	for asked := 0; ; asked++ {
		if asked == 0 || reply.Pending.Status != a.request.Pending.Status {
			b.agent.emit(domain.EventToolCallWaiting, domain.ToolCallWaiting{
				EventCall: a.call.event(), Status: domain.Shorten(reply.Pending.Status, maxEventText),
			})
		}
		a.request.Pending = reply.Pending
		delay := b.untilAsked(*reply.Pending, asked)
		a.note(fmt.Sprintf("%s; asked again at %s", reply.Pending.Says(), b.agent.now().Add(delay).UTC().Format(time.RFC3339)))
		if !a.call.renew(b.mail.BackOffAsking(ctx, delay)) || asked >= mostAsked || b.session.run.nearBounds() || b.agent.now().Sub(reply.Pending.Since) > longestPending {
			return a.takeBack(ctx)
		}
		b.load.Add(ctx, a.size+len(a.request.Pending.Handle))
		next, err := a.send(ctx, &a.options, &a.request)
		switch {
		case err != nil && lossOf(err).How == contract.Cancelled: // the wait ends at once
		case err != nil && !lossOf(err).MadeAgain(a.request):
			return lossOf(err).ToolReply(a.request)
		case err != nil:
			again := *a.request.Pending
			again.AskAt = b.agent.now().Add(max(a.policy.backoff(asked+1), b.agent.now().Sub(again.Since)/20))
			reply = &contract.ToolReply{Pending: &again}
		case next.Pending == nil:
			return *next
		default:
			reply = next
		}
	}
}

// briskAsks are how often the calls of a step are asked about as often as their tools say; they share them.
const briskAsks = 1000

// untilAsked is how long to wait before a call is asked about. What goes on for long is asked about less and less often,
// more so beside many: the history has room for so many times. Half of the time that its answer is kept is never missed.
func (b *toolBatch) untilAsked(pending contract.Pending, asked int) time.Duration {
	now, beside := b.agent.now(), max(min(len(b.calls), domain.MaxStepCalls), 20)
	delay := pending.AskAt.Sub(now)
	slow := now.Sub(pending.Since) * time.Duration(beside) / 400
	if !pending.Until.IsZero() {
		slow = min(slow, pending.Until.Sub(now)/2)
	}
	if asked < briskAsks/beside || slow <= delay {
		return delay
	}
	return slow
}

// takeBack gives a call up that its other side goes on with: that is told, and asked for what came of it, which the answer says.
func (a *callAttempts) takeBack(ctx workflow.Context) contract.ToolReply {
	mail := a.batch.mail
	a.request.TakeBack, a.request.Stopped = true, mail.CutOff()
	a.options.StartToCloseTimeout, a.options.ScheduleToCloseTimeout = takeBackTimeout, takeBackInAll
	a.call.markCutOff(a.request.Stopped)
	reply, _, err := mailbox.Call(ctx, mail.LastAdmission(), a.options, contract.CallTool, a.request)
	if err != nil {
		return lossOf(err).ToolReply(a.request)
	}
	return *reply
}

// note says what the call does now.
func (a *callAttempts) note(what string) {
	a.call.step.note("%s %s", domain.Shorten(a.request.Name, 64), what)
}
