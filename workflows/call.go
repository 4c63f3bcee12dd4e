package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// unstarted bounds how often a call is made after it surely did not begin.
const unstarted = 3

// A madeCall is a call on its way: it is made until something has come of it.
type madeCall struct {
	batch   *toolBatch
	wanted  domain.ToolCall
	request contract.ToolRequest
	tool    domain.ToolSpec
	options workflow.ActivityOptions
	// size is about how many bytes an attempt sends to the server.
	size int
	// unbegun counts attempts that surely did nothing, waited those that asked for a later one, and stranded those that nobody
	// took where the limit of the tool holds.
	unbegun, waited, stranded int
	// reply is what came of the newest attempt: what comes of the call where no further one is made.
	reply contract.ToolReply
}

// A nextAttempt says whether a call is made again.
type nextAttempt struct {
	again bool
	after time.Duration
	// untilStop says that every stop ends the wait for it, also one that lets calls under way finish.
	untilStop bool
}

// call makes a call, in the coroutine of a context, until something has come of it.
func (b *toolBatch) call(ctx workflow.Context, permit mailbox.Permit, position int, wanted domain.ToolCall) contract.ToolReply {
	c := b.newCall(position, wanted)
	for {
		next := c.attempt(ctx, permit)
		if !next.again {
			return c.reply
		}
		ended := func() bool { return b.step.halted || next.untilStop && b.mail.Asked() }
		allowed, ok := b.mail.BackOffCall(ctx, next.after, ended, b.holdForPause)
		if !ok {
			b.cutOff[position] = b.mail.CutOff()
			return c.reply
		}
		permit = allowed
		b.noteRunning()
	}
}

func (b *toolBatch) newCall(position int, wanted domain.ToolCall) *madeCall {
	tool, _ := b.config.Resolved.Tool(wanted.Name)
	request := b.requestOf(position, wanted)
	request.Note, request.ImageRoom = b.noteFor(tool), b.imageRoom()
	if tool.Effect.Repeatable() {
		request.Tries, request.Losses = min(cmp.Or(tool.Attempts, mostTries), b.session.policy.tryLimit()), cmp.Or(tool.Losses, domain.DefaultLosses)
	}
	return &madeCall{
		batch: b, wanted: wanted, request: request, tool: tool, options: b.session.policy.toolOptions(tool, fmt.Sprintf("step %d · %s", b.step.content.Number, wanted.Name)),
		size: 1024 + domain.ToolCall{Name: request.Name, Arguments: request.Arguments}.Size() + request.Trusted.Size() + len(request.Note),
	}
}

// attempt has a worker make the call once, and says what follows.
func (c *madeCall) attempt(ctx workflow.Context, permit mailbox.Permit) nextAttempt {
	c.batch.load.Add(ctx, c.size)
	c.options.DisableEagerExecution = c.unbegun+c.request.Attempts > 0 // another worker may be able to
	c.options.ScheduleToStartTimeout = c.batch.turnTime(c.tool.Name, c.options.TaskQueue, c.stranded)
	reply, cutOff, err := c.batch.makeCall(ctx, permit, c.options, c.request, c.tool)
	c.batch.markCutOff(c.request.Position, cutOff)
	refused, unasked := errors.AsType[*domain.Error](err)
	switch {
	case unasked:
		return c.over(contract.Unanswered(refused))
	case err == nil:
		return c.replied(ctx, *reply)
	case lossOf(err).Strands(c.request):
		return c.left(ctx, lossOf(err))
	}
	return c.lost(lossOf(err))
}

func (c *madeCall) over(reply contract.ToolReply) nextAttempt {
	c.reply = reply
	return nextAttempt{}
}

// replied goes on after a worker's reply: that says what came of the call, or why the call was not begun.
func (c *madeCall) replied(ctx workflow.Context, reply contract.ToolReply) nextAttempt {
	c.reply = reply
	switch {
	case reply.Pending != nil:
		return c.over(c.batch.follow(ctx, c.options, c.request, &reply, c.size))
	case !reply.NotStarted:
		return nextAttempt{}
	case reply.Question != nil:
		return c.over(c.batch.awaitReply(ctx, c.request.Position, c.wanted, reply))
	case c.batch.waits(reply, c.waited) && c.batch.session.run.nearBounds():
		return c.over(contract.Unanswered(waitedTooOften()))
	case c.batch.waits(reply, c.waited):
		return c.later(reply.WaitUntil)
	case c.options.TaskQueue == "" && c.batch.reroutes(reply):
		c.options.TaskQueue = reply.TaskQueue
		return nextAttempt{again: true}
	}
	if c.unbegun++; c.unbegun == unstarted {
		return nextAttempt{}
	}
	delay := max(c.batch.session.policy.backoff(c.unbegun), time.Duration(reply.RetryAfterMillis)*time.Millisecond)
	return nextAttempt{again: true, after: c.batch.session.policy.apart(delay, c.unbegun, c.request.Position)}
}

// later has a call made again at the time that its tool names. It is not made where a stop comes first, which may be for the
// reason that the call is one too many.
func (c *madeCall) later(at time.Time) nextAttempt {
	c.waited++
	c.request.WaitUntil = at
	c.batch.agent.note(fmt.Sprintf("step %d: %s waits until %s", c.batch.step.content.Number, domain.Shorten(c.request.Name, 64), at.Format(time.RFC3339)))
	c.batch.agent.emit(domain.EventToolCallWaiting, domain.ToolCallWaiting{EventCall: eventCall(c.request.ID(), c.request.Name), Until: at})
	return nextAttempt{again: true, after: at.Sub(c.batch.agent.now()), untilStop: true}
}

// left goes on with a call that nobody took where the limit of its tool holds.
func (c *madeCall) left(ctx workflow.Context, loss contract.Loss) nextAttempt {
	c.reply = loss.ToolReply(c.request)
	c.stranded++
	c.options.TaskQueue = c.batch.queueNow(ctx, c.tool.Name)
	return nextAttempt{again: true}
}

// lost goes on after an attempt that failed or whose worker was lost: with another one where the tool's effect allows it. The
// first loss of a worker says nothing against the call, which is made again at once.
func (c *madeCall) lost(loss contract.Loss) nextAttempt {
	if !loss.MadeAgain(c.request) {
		return c.over(loss.ToolReply(c.request))
	}
	c.request.Attempts++
	delay := c.batch.session.policy.apart(max(loss.RetryAfter, c.batch.session.policy.backoff(c.request.Attempts)), c.request.Attempts, c.request.Position)
	if loss.How == contract.TimedOut {
		if c.request.Lost++; c.request.Lost == 1 {
			delay = 0
		} else {
			delay = max(delay, c.batch.session.policy.afterLoss(c.request.ID()))
		}
	}
	c.reply = contract.NotAgain(c.request)
	c.batch.agent.note(fmt.Sprintf("step %d: %s failed (%s), trying again in %s", c.batch.step.content.Number, domain.Shorten(c.request.Name, 64), loss.Err().Kind, delay))
	c.batch.agent.emit(domain.EventToolCallRetried, domain.ToolCallRetried{
		EventCall: eventCall(c.request.ID(), c.request.Name), Attempt: c.request.Attempts + 1, Kind: loss.Err().Kind, Code: loss.Err().Code,
	})
	return nextAttempt{again: true, after: delay}
}

// awaitReply waits in the coroutine of a call until somebody has answered its question, or its time is over, and returns
// what came of it.
func (b *toolBatch) awaitReply(ctx workflow.Context, i int, call domain.ToolCall, reply contract.ToolReply) contract.ToolReply {
	if wrong := reply.Question.Check(); wrong != nil { // no worker of ours lets it pass
		return contract.Unanswered(domain.AsError(wrong))
	}
	asked := b.hold(i, call, domain.Wait{Kind: domain.WaitQuestion, Ask: reply.Question}, time.Duration(reply.Question.ExpiresIn)*time.Second, false)
	defer b.release()
	b.step.keep()
	b.tellWaiting()
	if !b.awaitPerson(ctx, asked) {
		b.cutOff[i] = b.mail.CutOff()
		return reply
	}
	said := asked.Reply()
	return contract.ToolReply{Content: said, Digest: domain.DigestOf([]byte(said))}
}

// markCutOff notes whether a stop has ended a call.
func (b *toolBatch) markCutOff(i int, cutOff bool) { b.cutOff[i] = cutOff }

// requestOf names a call, and what makes its effect.
func (b *toolBatch) requestOf(position int, wanted domain.ToolCall) contract.ToolRequest {
	tool, _ := b.config.Resolved.Tool(wanted.Name)
	request := contract.ToolRequest{
		ExecutionID: b.step.execution, Step: b.step.content.Number, Position: position, Name: wanted.Name, Effect: tool.Effect,
		Arguments: wanted.Arguments, Pin: tool.Pin, Trusted: b.agent.state.Trusted(),
	}
	if wanted.Name == domain.HistoryTool {
		request.Past = &domain.Past{FirstRunID: b.session.info.FirstRunID, Origins: b.session.talk.Origins(), TakenBack: b.session.talk.Edits().TakenBack}
	}
	if len(tool.EffectKey) > 0 {
		request.EffectKey = tool.EffectKeyOf(b.session.in.AgentID, wanted.Arguments)
	}
	// What a hook has changed stands nowhere in the transcript.
	own := wanted.Arguments == b.step.calls[position].Arguments
	if own && len(wanted.Arguments) > domain.MaxInlineArguments {
		request.Arguments = ""
		request.Reference = &contract.ArgumentsRef{Message: b.step.at, Digest: domain.DigestOf([]byte(wanted.Arguments))}
	}
	return request
}

// imageRoom is a call's share of the step's room for images; zero: as much as a result may have, because all calls fit.
func (b *toolBatch) imageRoom() int {
	share := domain.MaxStepImages / min(len(b.step.calls), domain.MaxStepCalls)
	if share >= domain.MaxResultData {
		return 0
	}
	return share
}
