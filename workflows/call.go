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

// call makes one call and waits for it, in a coroutine of its own.
func (b *toolBatch) call(ctx workflow.Context, permit mailbox.Permit, position int, wanted domain.ToolCall) contract.ToolReply {
	tool, _ := b.config.Resolved.Tool(wanted.Name)
	request := b.requestOf(position, wanted)
	request.Note, request.ImageRoom = b.noteFor(tool), b.imageRoom()
	if tool.Effect.Repeatable() {
		request.Tries, request.Losses = min(cmp.Or(tool.Attempts, mostTries), b.tryLimit()), cmp.Or(tool.Losses, domain.DefaultLosses)
	}
	options := b.toolOptions(tool, fmt.Sprintf("step %d · %s", b.content.Number, wanted.Name))
	size := 1024 + domain.ToolCall{Name: request.Name, Arguments: request.Arguments}.Size() + request.Trusted.Size() + len(request.Note)
	for unbegun, waited, stranded := 0, 0, 0; ; {
		b.load.Add(ctx, size)
		options.DisableEagerExecution, options.ScheduleToStartTimeout = unbegun+request.Attempts > 0, b.turnTime(tool.Name, options.TaskQueue, stranded) // another worker may be able to
		reply, cutOff, err := b.makeCall(ctx, permit, options, request, tool)
		b.cutOff[position] = cutOff
		if refused, ok := errors.AsType[*domain.Error](err); ok {
			return contract.Unanswered(refused) // it was never asked for
		}
		var delay time.Duration
		ends := func() bool { return b.halted }
		switch {
		case err == nil && reply.Pending != nil:
			return b.follow(ctx, options, request, reply, size)
		case err == nil && reply.NotStarted && reply.Question != nil:
			return b.awaitReply(ctx, position, wanted, *reply)
		case err == nil && b.waits(*reply, waited) && b.nearBounds():
			return contract.Unanswered(waitedTooOften())
		case err == nil && b.waits(*reply, waited):
			waited++
			request.WaitUntil, delay = reply.WaitUntil, reply.WaitUntil.Sub(b.now())
			ends = func() bool { return b.halted || b.mail.Asked() } // not for a call that was one too many
			b.note(fmt.Sprintf("step %d: %s waits until %s", b.content.Number, domain.Shorten(wanted.Name, 64), reply.WaitUntil.Format(time.RFC3339)))
			b.emit(domain.EventToolCallWaiting, domain.ToolCallWaiting{EventCall: eventCall(request.ID(), wanted.Name), Until: reply.WaitUntil})
		case err == nil && options.TaskQueue == "" && b.reroutes(*reply):
			options.TaskQueue = reply.TaskQueue
		case err != nil && lossOf(err).Strands(request):
			*reply, stranded = lossOf(err).ToolReply(request), stranded+1
			options.TaskQueue = b.queueNow(ctx, tool.Name)
		case err == nil:
			if unbegun++; !reply.NotStarted || unbegun == unstarted {
				return *reply
			}
			delay = b.apart(max(b.backoff(unbegun), time.Duration(reply.RetryAfterMillis)*time.Millisecond), unbegun, position)
		default:
			loss := lossOf(err)
			if !loss.MadeAgain(request) {
				return loss.ToolReply(request)
			}
			request.Attempts++
			delay = b.apart(max(loss.RetryAfter, b.backoff(request.Attempts)), request.Attempts, position)
			if loss.How == contract.TimedOut {
				request.Lost++
				delay = max(delay, b.afterLoss(request.ID()))
			}
			*reply = contract.NotAgain(request)
			b.note(fmt.Sprintf("step %d: %s failed (%s), trying again in %s",
				b.content.Number, domain.Shorten(wanted.Name, 64), loss.Err().Kind, delay))
			b.emit(domain.EventToolCallRetried, domain.ToolCallRetried{
				EventCall: eventCall(request.ID(), wanted.Name), Attempt: request.Attempts + 1,
				Kind: loss.Err().Kind, Code: loss.Err().Code,
			})
		}
		again, ok := b.mail.BackOffCall(ctx, delay, ends, b.holdForPause)
		if !ok {
			b.cutOff[position] = b.mail.CutOff()
			return *reply
		}
		permit = again
		b.noteRunning()
	}
}

// requestOf names a call, and what makes its effect.
func (b *toolBatch) requestOf(position int, wanted domain.ToolCall) contract.ToolRequest {
	tool, _ := b.config.Resolved.Tool(wanted.Name)
	request := contract.ToolRequest{
		ExecutionID: b.execution, Step: b.content.Number, Position: position, Name: wanted.Name, Effect: tool.Effect,
		Arguments: wanted.Arguments, Pin: tool.Pin, Trusted: b.state.Trusted(),
	}
	if wanted.Name == domain.HistoryTool {
		request.Past = &domain.Past{FirstRunID: b.info.FirstRunID, Origins: b.talk.Origins(), TakenBack: b.talk.Edits().TakenBack}
	}
	if len(tool.EffectKey) > 0 {
		request.EffectKey = tool.EffectKeyOf(b.in.AgentID, wanted.Arguments)
	}
	// What a hook has changed stands nowhere in the transcript.
	own := wanted.Arguments == b.calls[position].Arguments
	if own && len(wanted.Arguments) > domain.MaxInlineArguments {
		request.Arguments = ""
		request.Reference = &contract.ArgumentsRef{Message: b.at, Digest: domain.DigestOf([]byte(wanted.Arguments))}
	}
	return request
}

// imageRoom is a call's share of the step's room for images; zero: as much as a result may have, because all calls fit.
func (b *toolBatch) imageRoom() int {
	share := domain.MaxStepImages / min(len(b.calls), domain.MaxStepCalls)
	if share >= domain.MaxResultData {
		return 0
	}
	return share
}
